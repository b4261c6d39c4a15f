"""The front end: Python source to IR."""

from .specs import ArraySpec, Options, ScalarSpec, Spec, TemplateSpec, Translation
from .translate import translate

__all__ = ["ArraySpec", "Options", "ScalarSpec", "Spec", "TemplateSpec", "Translation", "translate"]
