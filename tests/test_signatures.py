"""What the docstrings of public estimators say of parameters is what the code does."""

import ast
import inspect
import re

import pytest

from tests.checks import public_estimators

ESTIMATORS = {name: type(model) for name, model in public_estimators().items()}


def defaults_in_words(kind):
    """Return the defaults that the section Parameters states, by name."""
    text = inspect.getdoc(kind).split("Parameters\n----------\n", 1)[-1]
    text = re.split(r"\n\w+\n-+\n", text)[0]
    stated = {}
    for names, value in re.findall(r"^(\w[\w, ]*) : .*?default=(.+)$", text, re.M):
        stated |= dict.fromkeys(names.split(", "), ast.literal_eval(value))
    return stated


@pytest.mark.parametrize("name", ESTIMATORS)
def test_defaults_are_those_the_docstring_states(name):
    signature = inspect.signature(ESTIMATORS[name]).parameters
    for parameter, value in defaults_in_words(ESTIMATORS[name]).items():
        assert signature[parameter].default == value, parameter
        assert type(signature[parameter].default) is type(value), parameter


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_without_a_default_of_their_own_have_that_of_the_class_named(name):
    """An entry ``a, b`` that says "As for ``Other``" has the defaults of that class."""
    text = inspect.getdoc(ESTIMATORS[name])
    said = re.findall(r"^((?:\w+, )*\w+)\n    As for ``(\w+)``", text, re.M)
    signature = inspect.signature(ESTIMATORS[name]).parameters
    for names, other in said:
        theirs = inspect.signature(ESTIMATORS[other]).parameters
        for parameter in names.split(", "):
            if parameter in signature:  # and not a fitted attribute
                assert signature[parameter].default == theirs[parameter].default
