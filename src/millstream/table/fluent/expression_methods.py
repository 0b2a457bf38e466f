"""The built-in functions as methods and properties of expressions."""

from __future__ import annotations

from typing import Any, Self

from millstream.table.fluent.expression_base import ExpressionBase, given, refused

__all__ = ["BuiltInFunctions"]


class BuiltInFunctions(ExpressionBase):
    """One method for each function that needs nothing but values."""

    @property
    def exp(self) -> Self:
        """E to the power of the number."""
        return self._call("EXP")

    @property
    def log10(self) -> Self:
        """The logarithm to base 10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Self:
        """The logarithm to base 2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Self:
        """The natural logarithm."""
        return self._call("LN")

    @property
    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        return self._call("COSH")

    @property
    def sinh(self) -> Self:
        """The hyperbolic sine."""
        return self._call("SINH")

    @property
    def sin(self) -> Self:
        """The sine."""
        return self._call("SIN")

    @property
    def cos(self) -> Self:
        """The cosine."""
        return self._call("COS")

    @property
    def tan(self) -> Self:
        """The tangent."""
        return self._call("TAN")

    @property
    def cot(self) -> Self:
        """The cotangent."""
        return self._call("COT")

    @property
    def asin(self) -> Self:
        """The arc sine."""
        return self._call("ASIN")

    @property
    def acos(self) -> Self:
        """The arc cosine."""
        return self._call("ACOS")

    @property
    def atan(self) -> Self:
        """The arc tangent."""
        return self._call("ATAN")

    @property
    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self._call("TANH")

    @property
    def degrees(self) -> Self:
        """Radians as degrees."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Self:
        """Degrees as radians."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Self:
        """The square root."""
        return self._call("SQRT")

    @property
    def abs(self) -> Self:
        """The number without its sign."""
        return self._call("ABS")

    @property
    def sign(self) -> Self:
        """-1, 0 or 1, by the sign."""
        return self._call("SIGN")

    @property
    def bin(self) -> Self:
        """The integer in binary digits."""
        return self._call("BIN")

    @property
    def hex(self) -> Self:
        """The integer, or the bytes of the text, in upper-case hexadecimal digits."""
        return self._call("HEX")

    @property
    def unhex(self) -> Self:
        """The bytes of hexadecimal digits."""
        return self._call("UNHEX")

    @property
    def char_length(self) -> Self:
        """The number of characters."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Self:
        """The text in upper case."""
        return self._call("UPPER")

    @property
    def lower_case(self) -> Self:
        """The text in lower case."""
        return self._call("LOWER")

    @property
    def init_cap(self) -> Self:
        """The first letter of each word in upper case, the others in lower case."""
        return self._call("INITCAP")

    @property
    def from_base64(self) -> Self:
        """The text of base 64."""
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Self:
        """The text in base 64."""
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Self:
        """The number of the first byte."""
        return self._call("ASCII")

    @property
    def chr(self) -> Self:
        """The character of a number, modulo 256."""
        return self._call("CHR")

    @property
    def reverse(self) -> Self:
        """The characters in the other order."""
        return self._call("REVERSE")

    @property
    def cardinality(self) -> Self:
        """The number of elements or pairs."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Self:
        """The only element."""
        return self._call("ELEMENT")

    @property
    def map_keys(self) -> Self:
        """The keys of a map."""
        return self._call("MAP_KEYS")

    @property
    def map_values(self) -> Self:
        """The values of a map."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Self:
        """The pairs of a map as rows."""
        return self._call("MAP_ENTRIES")

    @property
    def md5(self) -> Self:
        """The MD5 hash of the text in hexadecimal digits."""
        return self._call("MD5")

    @property
    def sha1(self) -> Self:
        """The SHA1 hash of the text in hexadecimal digits."""
        return self._call("SHA1")

    @property
    def sha224(self) -> Self:
        """The SHA224 hash of the text in hexadecimal digits."""
        return self._call("SHA224")

    @property
    def sha256(self) -> Self:
        """The SHA256 hash of the text in hexadecimal digits."""
        return self._call("SHA256")

    @property
    def sha384(self) -> Self:
        """The SHA384 hash of the text in hexadecimal digits."""
        return self._call("SHA384")

    @property
    def sha512(self) -> Self:
        """The SHA512 hash of the text in hexadecimal digits."""
        return self._call("SHA512")

    @property
    def sum(self) -> Self:
        """The sum."""
        return self._call("SUM")

    @property
    def sum0(self) -> Self:
        """The sum."""
        return self._call("SUM0")

    @property
    def min(self) -> Self:
        """The least value."""
        return self._call("MIN")

    @property
    def max(self) -> Self:
        """The greatest value."""
        return self._call("MAX")

    @property
    def count(self) -> Self:
        """The number of rows, or of rows whose values are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Self:
        """The mean."""
        return self._call("AVG")

    @property
    def first_value(self) -> Self:
        """The first value that is not NULL."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Self:
        """The last value that is not NULL."""
        return self._call("LAST_VALUE")

    @property
    def stddev_pop(self) -> Self:
        """The standard deviation of all values."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Self:
        """The standard deviation of a sample."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Self:
        """The variance of all values."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Self:
        """The variance of a sample."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Self:
        """The multiset of all values that are not NULL."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Self:
        """The array of all values, NULLs too."""
        return self._call("ARRAY_AGG")

    def url_decode(self) -> Self:
        """The text of a form of a web page."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Self:
        """The text as it stands in a form of a web page."""
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Self:
        """The number of an address such as 127.0.0.1."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Self:
        """The address of a number."""
        return self._call("INET_NTOA")

    def array_distinct(self) -> Self:
        """The array without repeated elements."""
        return self._call("ARRAY_DISTINCT")

    def array_reverse(self) -> Self:
        """The elements in the other order."""
        return self._call("ARRAY_REVERSE")

    def array_max(self) -> Self:
        """The greatest element that is not NULL."""
        return self._call("ARRAY_MAX")

    def array_min(self) -> Self:
        """The least element that is not NULL."""
        return self._call("ARRAY_MIN")

    def json_quote(self) -> Self:
        """The text as a JSON string."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Self:
        """The text of a JSON string."""
        return self._call("JSON_UNQUOTE")

    def truncate(self, n: Any = 0) -> Self:
        """The number cut to so many digits behind the point."""
        return self._call("TRUNCATE", *given(n))

    def percentile(self, percentage: Any, frequency: Any = None) -> Self:
        """The percentile, with interpolation."""
        return self._call("PERCENTILE", *given(percentage, frequency))

    def starts_with(self, start_expr: Any) -> Self:
        """TRUE if the text or binary begins with another."""
        return self._call("STARTSWITH", *given(start_expr))

    def ends_with(self, end_expr: Any) -> Self:
        """TRUE if the text or binary ends with another."""
        return self._call("ENDSWITH", *given(end_expr))

    def substring(self, begin_index: Any, length: Any = None) -> Self:
        """A part of the text, from a place (from 1, negative: from the end) on, to the end o ..."""
        return self._call("SUBSTRING", *given(begin_index, length))

    def substr(self, begin_index: Any, length: Any = None) -> Self:
        """A part of the text, from a place (from 1, negative: from the end) on, to the end o ..."""
        found = self._call("SUBSTRING", *given(begin_index, length))
        found._shown = ("substr", *found._parts)
        return found

    def replace(self, search: Any, replacement: Any) -> Self:
        """The first text, with the third instead of the second wherever it stands."""
        return self._call("REPLACE", *given(search, replacement))

    def translate(self, from_str: Any, to_str: Any) -> Self:
        """The text with each character of `from` replaced by the one at the same place of `t ..."""
        return self._call("TRANSLATE", *given(from_str, to_str))

    def lpad(self, length: Any, pad: Any) -> Self:
        """The text of exactly so many characters, cut, or filled at its beginning."""
        return self._call("LPAD", *given(length, pad))

    def rpad(self, length: Any, pad: Any) -> Self:
        """The text of exactly so many characters, cut, or filled at its end."""
        return self._call("RPAD", *given(length, pad))

    def regexp(self, regex: Any) -> Self:
        """TRUE if a part of the text fits the pattern."""
        return self._call("REGEXP", *given(regex))

    def regexp_count(self, regex: Any) -> Self:
        """The number of parts that fit the pattern."""
        return self._call("REGEXP_COUNT", *given(regex))

    def regexp_replace(self, regex: Any, replacement: Any) -> Self:
        """The text with the replacement, as it is written, instead of all parts that fit the ..."""
        return self._call("REGEXP_REPLACE", *given(regex, replacement))

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Self:
        """The part, or a group of it, that fits the pattern first."""
        return self._call("REGEXP_EXTRACT", *given(regex, extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Self:
        """All parts, or a group (by default the first) of each, that fit the pattern."""
        return self._call("REGEXP_EXTRACT_ALL", *given(regex, extract_index))

    def regexp_instr(self, regex: Any) -> Self:
        """The place, from 1, of the first part that fits the pattern."""
        return self._call("REGEXP_INSTR", *given(regex))

    def regexp_substr(self, regex: Any) -> Self:
        """The first part that fits the pattern."""
        return self._call("REGEXP_SUBSTR", *given(regex))

    def decode(self, charset: Any) -> Self:
        """The text of bytes in a charset."""
        return self._call("DECODE", *given(charset))

    def encode(self, charset: Any) -> Self:
        """The bytes of the text in a charset."""
        return self._call("ENCODE", *given(charset))

    def left(self, length: Any) -> Self:
        """The first characters."""
        return self._call("LEFT", *given(length))

    def right(self, length: Any) -> Self:
        """The last characters."""
        return self._call("RIGHT", *given(length))

    def instr(self, s: Any) -> Self:
        """The place, from 1, where the second text begins in the first."""
        return self._call("INSTR", *given(s))

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Self:
        """A part of a URL: PROTOCOL, HOST, PATH, QUERY, REF, AUTHORITY, FILE, USERINFO, or t ..."""
        return self._call("PARSE_URL", *given(part_to_extract, key))

    def ltrim(self, trim_str: Any = None) -> Self:
        """The text without some characters, by default blanks, at its beginning."""
        return self._call("LTRIM", *given(trim_str))

    def rtrim(self, trim_str: Any = None) -> Self:
        """The text without some characters, by default blanks, at its end."""
        return self._call("RTRIM", *given(trim_str))

    def btrim(self, trim_str: Any = None) -> Self:
        """The text without some characters, by default blanks, at both ends."""
        return self._call("BTRIM", *given(trim_str))

    def repeat(self, n: Any) -> Self:
        """The text so many times."""
        return self._call("REPEAT", *given(n))

    def split_index(self, separator: Any, index: Any) -> Self:
        """The part at a place, from 0, of a text that a delimiter splits."""
        return self._call("SPLIT_INDEX", *given(separator, index))

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Self:
        """The map of a text such as a=1,b=2."""
        return self._call("STR_TO_MAP", *given(list_delimiter, key_value_delimiter))

    def array_append(self, addition: Any) -> Self:
        """The array with the element at its end."""
        return self._call("ARRAY_APPEND", *given(addition))

    def array_contains(self, needle: Any) -> Self:
        """TRUE if the array has the element, which may be NULL."""
        return self._call("ARRAY_CONTAINS", *given(needle))

    def array_position(self, needle: Any) -> Self:
        """The place, from 1, of the first such element."""
        return self._call("ARRAY_POSITION", *given(needle))

    def array_prepend(self, addition: Any) -> Self:
        """The array with the element at its beginning."""
        return self._call("ARRAY_PREPEND", *given(addition))

    def array_remove(self, needle: Any) -> Self:
        """The array without all such elements."""
        return self._call("ARRAY_REMOVE", *given(needle))

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        """The elements from a place to another, both from 1, negative ones from the end."""
        return self._call("ARRAY_SLICE", *given(start_offset, end_offset))

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        """The elements in order."""
        return self._call("ARRAY_SORT", *given(ascending_order, null_first))

    def array_union(self, array: Any) -> Self:
        """The elements of both arrays, each once."""
        return self._call("ARRAY_UNION", *given(array))

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        """The texts of an array in one."""
        return self._call("ARRAY_JOIN", *given(delimiter, null_replacement))

    def array_except(self, array: Any) -> Self:
        """The elements of the first array that the second has not."""
        return self._call("ARRAY_EXCEPT", *given(array))

    def array_intersect(self, array: Any) -> Self:
        """The elements that both arrays have, each once."""
        return self._call("ARRAY_INTERSECT", *given(array))

    def split(self, delimiter: Any) -> Self:
        """The parts of a text between the delimiters."""
        return self._call("SPLIT", *given(delimiter))

    def sha2(self, hash_length: Any) -> Self:
        """The SHA-2 hash of 224, 256, 384 or 512 bits."""
        return self._call("SHA2", *given(hash_length))

    def round(self, places: Any) -> Self:
        """The number rounded to so many digits behind the point, halves away from zero."""
        return self._call("ROUND", *given(places))

    def if_null(self, null_replacement: Any) -> Self:
        """The value, or the replacement if it is NULL."""
        return self._call("IFNULL", *given(null_replacement))

    def list_agg(self, separator: Any = None) -> Self:
        """All texts in one, with a separator (by default a comma) between them."""
        return self._call("LISTAGG", "," if separator is None else separator)

    @property
    def year(self) -> Self:
        """An interval of so many years."""
        return self._interval("YEAR")

    @property
    def years(self) -> Self:
        """An interval of so many years."""
        return self._interval("YEAR")

    @property
    def quarter(self) -> Self:
        """An interval of so many quarters."""
        return self._interval("QUARTER")

    @property
    def quarters(self) -> Self:
        """An interval of so many quarters."""
        return self._interval("QUARTER")

    @property
    def month(self) -> Self:
        """An interval of so many months."""
        return self._interval("MONTH")

    @property
    def months(self) -> Self:
        """An interval of so many months."""
        return self._interval("MONTH")

    @property
    def week(self) -> Self:
        """An interval of so many weeks."""
        return self._interval("WEEK")

    @property
    def weeks(self) -> Self:
        """An interval of so many weeks."""
        return self._interval("WEEK")

    @property
    def day(self) -> Self:
        """An interval of so many days."""
        return self._interval("DAY")

    @property
    def days(self) -> Self:
        """An interval of so many days."""
        return self._interval("DAY")

    @property
    def hour(self) -> Self:
        """An interval of so many hours."""
        return self._interval("HOUR")

    @property
    def hours(self) -> Self:
        """An interval of so many hours."""
        return self._interval("HOUR")

    @property
    def minute(self) -> Self:
        """An interval of so many minutes."""
        return self._interval("MINUTE")

    @property
    def minutes(self) -> Self:
        """An interval of so many minutes."""
        return self._interval("MINUTE")

    @property
    def second(self) -> Self:
        """An interval of so many seconds."""
        return self._interval("SECOND")

    @property
    def seconds(self) -> Self:
        """An interval of so many seconds."""
        return self._interval("SECOND")

    @property
    def milli(self) -> Self:
        """An interval of so many millis."""
        return self._interval("MILLISECOND")

    @property
    def millis(self) -> Self:
        """An interval of so many millis."""
        return self._interval("MILLISECOND")

    @property
    def is_null(self) -> Self:
        """Whether the value IS NULL."""
        return self._text(("isNull", self), "(", self, " IS NULL)")

    @property
    def is_not_null(self) -> Self:
        """Whether the value IS NOT NULL."""
        return self._text(("isNotNull", self), "(", self, " IS NOT NULL)")

    @property
    def is_true(self) -> Self:
        """Whether the value IS TRUE."""
        return self._text(("isTrue", self), "(", self, " IS TRUE)")

    @property
    def is_false(self) -> Self:
        """Whether the value IS FALSE."""
        return self._text(("isFalse", self), "(", self, " IS FALSE)")

    @property
    def is_not_true(self) -> Self:
        """Whether the value IS NOT TRUE."""
        return self._text(("isNotTrue", self), "(", self, " IS NOT TRUE)")

    @property
    def is_not_false(self) -> Self:
        """Whether the value IS NOT FALSE."""
        return self._text(("isNotFalse", self), "(", self, " IS NOT FALSE)")

    def bitmap_and(self, bitmap2: Any) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_and")

    def bitmap_andnot(self, bitmap2: Any) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_andnot")

    def bitmap_or(self, bitmap2: Any) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_or")

    def bitmap_xor(self, bitmap2: Any) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_xor")

    def bitmap_and_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_and_agg")

    def bitmap_and_cardinality_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_and_cardinality_agg")

    def bitmap_build(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_build")

    def bitmap_build_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_build_agg")

    def bitmap_build_cardinality_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_build_cardinality_agg")

    def bitmap_cardinality(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_cardinality")

    def bitmap_from_bytes(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_from_bytes")

    def bitmap_or_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_or_agg")

    def bitmap_or_cardinality_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_or_cardinality_agg")

    def bitmap_to_array(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_to_array")

    def bitmap_to_bytes(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_to_bytes")

    def bitmap_to_string(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_to_string")

    def bitmap_xor_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_xor_agg")

    def bitmap_xor_cardinality_agg(self) -> Self:
        """Refused: there are no bitmaps."""
        raise refused("bitmap_xor_cardinality_agg")
