"""An interpreter of AMDGPU assembly: what LLVM prints, run as the ISA documents define it.

It follows AMD's "Vega", "CDNA3" and "RDNA1" ... "RDNA4 Instruction Set Architecture" documents, and shares
nothing with the code generator.  All waves of a launch that stand at the same instruction are run together, as the
first axis of every register.  An instruction that it does not know is an error that shows its text.

    text        assembly into instructions           integers, floats, compares    tables of the vector ALU
    operands    registers, constants, modifiers      rows, special, alu    the tables into steps, and what is no row
    state       registers, EXEC, waves               dpp, lanes  operands from other lanes, permutes, lane reads
    scalar, scalar_floats    "SOP1" ... "SOPK"       access, memory, atomics    "SMEM", "FLAT", "MUBUF", "LDS"
    machine     program counter, branches, barriers  space       the bytes behind them, bounds-checked
    engine      the device that the tests run on
"""
