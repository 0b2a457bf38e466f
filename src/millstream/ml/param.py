"""Parameters of stages: their types, what they may be, and how they are set and read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from millstream.ml.common.window import Windows
from millstream.ml.errors import ml_type_error, ml_value_error
from millstream.ml.linalg import Vector
from millstream.ml.util.values import from_json, to_json

__all__ = [
    "BooleanParam",
    "FloatArrayArrayParam",
    "FloatArrayParam",
    "FloatParam",
    "IntArrayParam",
    "IntParam",
    "Param",
    "ParamValidator",
    "ParamValidators",
    "StringArrayParam",
    "StringParam",
    "VectorParam",
    "WindowsParam",
    "WithParams",
]

T = TypeVar("T")


class ParamValidator(Generic[T]):
    """A rule for the values of a parameter."""

    def __init__(self, rule: Callable[[Any], bool] = lambda value: True, text: str = "") -> None:
        self._rule = rule
        self.text = text

    def validate(self, value: T | None) -> bool:
        """Whether a value is allowed."""
        return self._rule(value)


class ParamValidators:
    """The usual rules.

    Examples
    --------
    >>> ParamValidators.gt(10).validate(10), ParamValidators.in_array([1, 2]).validate(2)
    (False, True)
    """

    @staticmethod
    def always_true() -> ParamValidator[Any]:
        """Everything is allowed."""
        return ParamValidator()

    @staticmethod
    def gt(lower_bound: float) -> ParamValidator[Any]:
        """Values above a bound."""
        return ParamValidator(lambda v: v is not None and v > lower_bound, f"above {lower_bound}")

    @staticmethod
    def gt_eq(lower_bound: float) -> ParamValidator[Any]:
        """A bound, and values above it."""
        text = f"at least {lower_bound}"
        return ParamValidator(lambda v: v is not None and v >= lower_bound, text)

    @staticmethod
    def lt(upper_bound: float) -> ParamValidator[Any]:
        """Values below a bound."""
        return ParamValidator(lambda v: v is not None and v < upper_bound, f"below {upper_bound}")

    @staticmethod
    def lt_eq(upper_bound: float) -> ParamValidator[Any]:
        """A bound, and values below it."""
        text = f"at most {upper_bound}"
        return ParamValidator(lambda v: v is not None and v <= upper_bound, text)

    @staticmethod
    def in_range(
        lower_bound: float,
        upper_bound: float,
        lower_inclusive: bool = True,
        upper_inclusive: bool = True,
    ) -> ParamValidator[Any]:
        """Values between two bounds."""

        def within(value: Any) -> bool:
            return (
                value is not None
                and lower_bound <= value <= upper_bound
                and (lower_inclusive or value != lower_bound)
                and (upper_inclusive or value != upper_bound)
            )

        return ParamValidator(within, f"between {lower_bound} and {upper_bound}")

    @staticmethod
    def in_array(allowed: Sequence[Any]) -> ParamValidator[Any]:
        """One of some values."""
        text = f"one of {', '.join(map(repr, allowed))}"
        return ParamValidator(lambda v: v is not None and v in allowed, text)

    @staticmethod
    def is_sub_set(allowed: Sequence[Any]) -> ParamValidator[Any]:
        """Arrays of some values."""
        text = f"a choice of {', '.join(map(repr, allowed))}"
        return ParamValidator(lambda v: v is not None and set(v) <= set(allowed), text)

    @staticmethod
    def not_null() -> ParamValidator[Any]:
        """Everything but None."""
        return ParamValidator(lambda v: v is not None, "a value")

    @staticmethod
    def non_empty_array() -> ParamValidator[Any]:
        """Arrays with at least one value."""
        return ParamValidator(lambda v: v is not None and len(v) > 0, "at least one value")


class Param(Generic[T]):
    """A parameter: name, class of its values, description, default and rule."""

    of: type | None = None
    """The class of the elements of an array."""

    def __init__(
        self,
        name: str,
        type_type: type,
        type_name: str,
        description: str,
        default_value: T | None,
        validator: ParamValidator[T],
    ) -> None:
        self.name = name
        self.type = type_type
        self.type_name = type_name
        self.description = description
        self.default_value = default_value
        self.validator = validator
        if default_value is not None and not validator.validate(default_value):
            message = f"Parameter {name} is given an invalid value {default_value}"
            raise ml_value_error("ML_PARAM_VALUE", message)

    def fitted(self, value: Any) -> Any:
        """A value in the class of the parameter, or an error."""
        if value is None:
            return None
        if self.of is not None and isinstance(value, (list, tuple)):
            return type(value)(_scalar(self, each, self.of) for each in value)
        if self.type is tuple and isinstance(value, (list, tuple)):
            return value
        return _scalar(self, value, self.type)

    def json_encode(self, value: T | None) -> str:
        """A value as text."""
        return json.dumps(to_json(self.plain(value)))

    def json_decode(self, text: str) -> Any:
        """The value of a text."""
        return self.of_plain(from_json(json.loads(text)))

    def plain(self, value: Any) -> Any:
        """A value that can be written."""
        return value

    def of_plain(self, data: Any) -> Any:
        """The value of what `plain` gave."""
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Param) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _scalar(param: Param[Any], value: Any, kind: type) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a number of numpy
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        message = (
            f"Parameter {param.name}'s type {kind} is incompatible with the type of {type(value)}"
        )
        raise ml_type_error("ML_PARAM_TYPE", message, f"give {param.type_name}")
    return value


def _kind(type_type: type, name: str, of: type | None = None) -> Any:
    """The constructor of a class of parameters; all have the same arguments."""

    def init(
        self: Any,
        name_: str,
        description: str,
        default_value: Any,
        validator: ParamValidator[Any] | None = None,
    ) -> None:
        Param.__init__(
            self,
            name_,
            type_type,
            name,
            description,
            default_value,
            validator or ParamValidators.always_true(),
        )
        self.of = of

    return init


class BooleanParam(Param[bool]):
    """A parameter that is True or False."""

    __init__ = _kind(bool, "bool")


class IntParam(Param[int]):
    """A parameter that is a whole number."""

    __init__ = _kind(int, "int")


class FloatParam(Param[float]):
    """A parameter that is a number."""

    __init__ = _kind(float, "float")


class StringParam(Param[str]):
    """A parameter that is a text."""

    __init__ = _kind(str, "str")


class IntArrayParam(Param[tuple[int, ...]]):
    """A parameter that is several whole numbers."""

    __init__ = _kind(tuple, "Tuple[int]", int)


class FloatArrayParam(Param[tuple[float, ...]]):
    """A parameter that is several numbers."""

    __init__ = _kind(tuple, "Tuple[float]", float)


class StringArrayParam(Param[tuple[str, ...]]):
    """A parameter that is several texts."""

    __init__ = _kind(tuple, "Tuple[str]", str)


class FloatArrayArrayParam(Param[tuple[tuple[float, ...], ...]]):
    """A parameter that is several arrays of numbers."""

    __init__ = _kind(tuple, "Tuple[Tuple[float]]")

    def fitted(self, value: Any) -> Any:
        if value is None:
            return None
        return tuple(tuple(_scalar(self, each, float) for each in part) for part in value)


class VectorParam(Param[Vector]):
    """A parameter that is a vector."""

    __init__ = _kind(Vector, "Vector")


class WindowsParam(Param[Windows]):
    """A parameter that says how records are put together: see `millstream.ml.common.window`."""

    __init__ = _kind(Windows, "Windows")

    def plain(self, value: Any) -> Any:
        return None if value is None else value.to_dict()

    def of_plain(self, data: Any) -> Any:
        return None if data is None else Windows.of_dict(data)


class WithParams(ABC, Generic[T]):
    """Something that has parameters: class attributes of type `Param`.

    Each parameter ``max_iter`` has a setter ``set_max_iter``, which returns the object, a getter
    ``get_max_iter``, and an attribute ``max_iter`` to read it. Setters of arrays take the values one by
    one, or a list of them.

    Examples
    --------
    >>> class Example(WithParams):
    ...     MAX_ITER = IntParam("max_iter", "How often.", 20, ParamValidators.gt(0))
    ...     def __init__(self):
    ...         self._param_map = {self.MAX_ITER: 20}
    ...     def get_param_map(self):
    ...         return self._param_map
    >>> Example().set_max_iter(3).max_iter
    3
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for param in [each for each in vars(cls).values() if isinstance(each, Param)]:
            for name, made in _accessors(param).items():
                if name not in vars(cls):
                    setattr(cls, name, made)

    if TYPE_CHECKING:
        # Setters and getters are made of the parameters.
        def __getattr__(self, name: str) -> Any: ...

    def set(self, param: Param[Any], value: Any) -> Self:
        """Give a parameter a value."""
        fitted = param.fitted(value)
        if not param.validator.validate(fitted):
            if value is None:
                message = f"Parameter {param.name}'s value should not be None."
            else:
                message = f"Parameter {param.name} is given an invalid value {value}."
            hint = f"it must be {param.validator.text}" if param.validator.text else None
            raise ml_value_error("ML_PARAM_VALUE", message, hint)
        self.get_param_map()[param] = fitted
        return self

    def get(self, param: Param[Any]) -> Any:
        """The value of a parameter."""
        value = self.get_param_map().get(param)
        if value is None and not param.validator.validate(None):
            message = f"Parameter {param.name}'s value should not be None"
            raise ml_value_error("ML_PARAM_VALUE", message, f"call set_{param.name}(...)")
        return value

    def get_param(self, name: str) -> Param[Any] | None:
        """The parameter with a name, None if there is none."""
        return next((each for each in self.get_param_map() if each.name == name), None)

    @abstractmethod
    def get_param_map(self) -> dict[Param[Any], Any]:
        """The values of all parameters."""


def _accessors(param: Param[Any]) -> Mapping[str, Any]:
    several = param.of is not None

    def setter(self: Any, *values: Any) -> Any:
        if several:
            one = len(values) == 1 and isinstance(values[0], (list, tuple))
            return self.set(param, tuple(values[0]) if one else values)
        if len(values) != 1:
            message = f"set_{param.name} takes one value, got {len(values)}"
            raise ml_type_error("ML_PARAM_TYPE", message)
        return self.set(param, values[0])

    def getter(self: Any) -> Any:
        return self.get(param)

    setter.__name__, getter.__name__ = f"set_{param.name}", f"get_{param.name}"
    setter.__doc__ = f"Set ``{param.name}``. {param.description}"
    getter.__doc__ = param.description
    return {
        setter.__name__: setter,
        getter.__name__: getter,
        param.name: property(getter, doc=param.description),
    }
