"""`python -m lanewise` is the command `lanewise`."""

from .tools.cli import app

app(prog_name="lanewise")
