"""The front end: Python source to IR.  `translate.translate` does it, for the types of `specs`."""
