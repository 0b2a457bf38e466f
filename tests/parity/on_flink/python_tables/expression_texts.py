"""What expressions print."""

from __future__ import annotations

from decimal import Decimal

from pyflink.table import DataTypes
from pyflink.table import expressions as ex
from pyflink.table.expression import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf

a, b, c = col("a"), col("b"), col("c")


def texts(*expressions):
    return [str(each) for each in expressions]


def texts_of_operators(t_env):
    return texts(
        a == b,
        a != b,
        a < b,
        a > b,
        a <= b,
        a >= b,
        a & b,
        a | b,
        ~a,
        a + b,
        a - b,
        a * b,
        a / b,
        a % b,
        a**b,
        -a,
        abs(a),
        1 + a,
        1 - a,
        2 * a,
        1 / a,
        5 % a,
        2**a,
        a == 1,
        a == "x",
        True & a,
        False | a,
        a + "x",
        "x" + a,
        a & True,
        a[1],
        a["n"],
    )


def texts_of_numbers(t_env):
    return texts(
        a.exp,
        a.log10,
        a.log2,
        a.ln,
        a.log(),
        a.log(3),
        a.cosh,
        a.sinh,
        a.sin,
        a.cos,
        a.tan,
        a.cot,
        a.asin,
        a.acos,
        a.atan,
        a.tanh,
        a.degrees,
        a.radians,
        a.sqrt,
        a.abs,
        a.sign,
        a.round(2),
        a.bin,
        a.hex,
        a.unhex,
        a.truncate(2),
        a.floor(),
        a.ceil(),
    )


def texts_of_logic(t_env):
    return texts(
        a.is_null,
        a.is_not_null,
        a.is_true,
        a.is_false,
        a.is_not_true,
        a.is_not_false,
        a.between(1, 2),
        a.not_between(1, 2),
        a.then(1, 2),
        a.if_null("x"),
        a.in_(1, 2, 3),
        a.in_(b, c),
    )


def texts_of_aggregates(t_env):
    return texts(
        a.sum,
        a.sum0,
        a.min,
        a.max,
        a.count,
        a.avg,
        a.first_value,
        a.last_value,
        a.list_agg(),
        a.list_agg("-"),
        a.stddev_pop,
        a.stddev_samp,
        a.var_pop,
        a.var_samp,
        a.collect,
        a.array_agg,
        a.sum.distinct,
        a.count.distinct,
        a.percentile(0.5),
        a.percentile(0.5, b),
    )


def texts_of_names_and_casts(t_env):
    return texts(
        a.alias("b"),
        a.alias("b", "c", "d"),
        a.cast(DataTypes.INT()),
        a.cast(DataTypes.STRING()),
        a.try_cast(DataTypes.DECIMAL(5, 2)),
        a.cast(DataTypes.TIMESTAMP(3)),
        a.cast(DataTypes.ARRAY(DataTypes.INT().not_null())),
        a.cast(DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])),
        a.cast(DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        a.asc,
        a.desc,
        a.start,
        a.end,
        a.rowtime,
        a.proctime,
        a.over("w"),
        a.over(col("w")),
        a.get(0),
        a.get("n"),
        a.flatten,
        a.as_argument("x"),
    )


def texts_of_strings(t_env):
    return texts(
        a.char_length,
        a.upper_case,
        a.lower_case,
        a.init_cap,
        a.substring(1),
        a.substring(b, 3),
        a.substr(1),
        a.substr(b, 3),
        a.trim_leading(),
        a.trim_trailing(),
        a.trim(),
        a.trim_leading("x"),
        a.trim_trailing("x"),
        a.trim("x"),
        a.replace("x", b),
        a.like("x%"),
        a.like("x%", "!"),
        a.similar("x"),
        a.position(b),
        a.lpad(3, "x"),
        a.rpad(3, "x"),
        a.overlay(b, 1),
        a.overlay(b, 1, 2),
        a.regexp("x"),
        a.regexp_count("x"),
        a.regexp_replace("x", "y"),
        a.regexp_extract("x"),
        a.regexp_extract("x", 1),
        a.regexp_extract_all("x"),
        a.regexp_instr("x"),
        a.regexp_substr("x"),
        a.from_base64,
        a.to_base64,
        a.ascii,
        a.chr,
        a.decode("UTF-8"),
        a.encode("UTF-8"),
        a.left(1),
        a.right(1),
        a.instr("x"),
        a.locate("x"),
        a.locate("x", 2),
        a.parse_url("HOST"),
        a.parse_url("QUERY", "k"),
        a.ltrim(),
        a.ltrim("x"),
        a.rtrim(),
        a.rtrim("x"),
        a.btrim(),
        a.btrim("x"),
        a.repeat(2),
        a.reverse,
        a.split_index(",", 0),
        a.str_to_map(),
        a.str_to_map(";", ":"),
        a.translate("x", "y"),
        a.starts_with("x"),
        a.ends_with("x"),
        a.elt(b, c),
        a.printf(1, b),
        a.url_encode(),
        a.url_decode(),
        a.split(","),
    )


def texts_of_times(t_env):
    return texts(
        a.to_date,
        a.to_time,
        a.to_timestamp,
        a.extract(TimeIntervalUnit.DAY),
        a.floor(TimeIntervalUnit.HOUR),
        a.ceil(TimeIntervalUnit.YEAR),
        *(
            getattr(lit(3), each)
            for each in (
                "year",
                "years",
                "quarter",
                "quarters",
                "month",
                "months",
                "week",
                "weeks",
                "day",
                "days",
            )
        ),
        *(
            getattr(lit(3), each)
            for each in (
                "hour",
                "hours",
                "minute",
                "minutes",
                "second",
                "seconds",
                "milli",
                "millis",
            )
        ),
        ex.current_date(),
        ex.current_time(),
        ex.current_timestamp(),
        ex.local_time(),
        ex.local_timestamp(),
        ex.current_database(),
        ex.current_watermark(a),
        ex.to_date(a),
        ex.to_date(a, "yyyy"),
        ex.to_timestamp(a),
        ex.to_timestamp(a, "yyyy"),
        ex.to_timestamp_ltz(123, 0),
        ex.temporal_overlaps(a, b, c, lit(1).days),
        ex.date_format(a, "yyyy"),
        ex.timestamp_diff(TimePointUnit.DAY, a, b),
        ex.convert_tz(a, "UTC", "GMT"),
        ex.from_unixtime(1),
        ex.from_unixtime(1, "yyyy"),
        ex.unix_timestamp(),
        ex.unix_timestamp(a),
        ex.unix_timestamp(a, "yyyy"),
    )


def texts_of_collections(t_env):
    return texts(
        a.cardinality,
        a.element,
        a.at(1),
        a.at("k"),
        a.array_append(1),
        a.array_contains(1),
        a.array_distinct(),
        a.array_join(","),
        a.array_join(",", "n"),
        a.array_position(1),
        a.array_prepend(1),
        a.array_remove(1),
        a.array_reverse(),
        a.array_slice(1),
        a.array_slice(1, 2),
        a.array_sort(True),
        a.array_sort(True, False),
        a.array_union(b),
        a.array_except(b),
        a.array_intersect(b),
        a.map_keys,
        a.map_values,
        a.map_entries,
        ex.array(1, 2),
        ex.array(a, b),
        ex.row(1, "x", a),
        ex.map_("k", 1),
        ex.map_("k", 1, b, c),
        ex.map_from_arrays(a, b),
    )


def texts_of_hashes(t_env):
    return texts(a.md5, a.sha1, a.sha224, a.sha256, a.sha384, a.sha512, a.sha2(256), a.sha2(b))


def texts_of_json(t_env):
    return texts(
        a.is_json(),
        a.is_json(JsonType.ARRAY),
        a.json_exists("$.x"),
        a.json_exists("$.x", JsonExistsOnError.ERROR),
        a.json_value("$.x"),
        a.json_value("$.x", DataTypes.INT()),
        a.json_value(
            "$.x",
            DataTypes.INT(),
            JsonValueOnEmptyOrError.DEFAULT,
            1,
            JsonValueOnEmptyOrError.ERROR,
            None,
        ),
        a.json_query("$.x"),
        a.json_query("$.x", JsonQueryWrapper.UNCONDITIONAL_ARRAY),
        a.json_query(
            "$.x",
            JsonQueryWrapper.CONDITIONAL_ARRAY,
            JsonQueryOnEmptyOrError.EMPTY_ARRAY,
            JsonQueryOnEmptyOrError.ERROR,
        ),
        a.json_quote(),
        a.json_unquote(),
        ex.json_string(a),
        ex.json_object_agg(JsonOnNull.NULL, a, b),
        ex.json_array(JsonOnNull.ABSENT, 1, a),
        ex.json_array_agg(JsonOnNull.ABSENT, a),
    )


def texts_of_functions(t_env):
    return texts(
        ex.and_(a, b),
        ex.and_(a, b, c),
        ex.or_(a, b),
        ex.or_(a, b, c),
        ex.not_(a),
        ex.pi(),
        ex.e(),
        ex.rand(),
        ex.rand(1),
        ex.rand_integer(5),
        ex.rand_integer(5, 1),
        ex.atan2(a, b),
        ex.negative(a),
        ex.concat(a, "x"),
        ex.concat_ws("-", a, b),
        ex.uuid(),
        ex.null_of(DataTypes.INT()),
        ex.log(a),
        ex.log(a, 2),
        ex.source_watermark(),
        ex.if_then_else(a, 1, "x"),
        ex.coalesce(a, b, 1),
        ex.with_columns("a"),
        ex.with_columns(a, ex.range_("b", "c")),
        ex.without_columns("a"),
        ex.with_all_columns(),
        ex.range_("a", "b"),
        ex.range_(1, 2),
        ex.call("f", a, 1),
        ex.call_sql("a + 1"),
        ex.lag(a),
        ex.lag(a, 2),
        ex.lag(a, 2, 0),
        ex.lead(a),
        ex.row_interval(5),
        ex.UNBOUNDED_ROW,
        ex.UNBOUNDED_RANGE,
        ex.CURRENT_ROW,
        ex.CURRENT_RANGE,
        udf(lambda x: x, result_type=DataTypes.INT(), name="mine")(a, 1),
        ex.call(udf(lambda x: x, result_type=DataTypes.INT()), a),
    )


def texts_of_literals(t_env):
    return texts(
        lit(1),
        lit(2**40),
        lit(1.5),
        lit("x"),
        lit("it's"),
        lit(True),
        lit(Decimal("1.50")),
        lit(b"ab"),
        lit(bytearray(b"ab")),
        lit(None, DataTypes.INT()),
        lit(1, DataTypes.BIGINT().not_null()),
        lit("x", DataTypes.CHAR(1).not_null()),
        lit(-5),
        lit(-1.5),
        lit(1e300),
        lit(1e-7),
        lit(100.0),
        a + 1.5,
        repr(a == 1),
        repr(col("a b")),
    )


def texts_of_nested_calls(t_env):
    return texts(
        (a + 1) * 2 - b,
        ((a == 1) & (b > 2)) | ~(c < 3),
        (a.upper_case + "x").alias("n"),
        a.sum.alias("s"),
        (a.sum + 1).alias("s").desc,
        ex.if_then_else((a > 1) & b.is_null, a.cast(DataTypes.STRING()), b.substring(1, 2)),
        a.get("x").get("y"),
        col("a.b"),
        col("t.a") + 1,
    )


def intervals(t_env):
    t = t_env.from_elements([(1,)], ["a"])
    return (
        t.select(
            *(
                getattr(lit(3), each).cast(DataTypes.STRING())
                for each in (
                    "years",
                    "quarters",
                    "months",
                    "weeks",
                    "days",
                    "hours",
                    "minutes",
                    "seconds",
                    "millis",
                )
            )
        )
        .to_pandas()
        .values.tolist()
    )
