"""Millstream inside a PySpark program: DataFrame in, DataFrame out, on the session that is there.

Prints:
    +----+-----+
    |city|total|
    +----+-----+
    |Oslo|    9|
    |Rome|    5|
    +----+-----+
"""

import os
import sys

from pyspark.sql import SparkSession

from millstream.common import Row, Types
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.state import ValueStateDescriptor

TOTAL = Types.ROW_NAMED(["city", "total"], [Types.STRING(), Types.LONG()])


class Total(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, row, ctx):
        self.total.update((self.total.value() or 0) + row.amount)
        yield Row(city=row.city, total=self.total.value())


def show_largest(df, epoch):
    """Called with an ordinary DataFrame, once for each epoch; a batch has one."""
    df.groupBy("city").max("total").toDF("city", "total").orderBy("city").show()


# PySpark's own rule: without this its workers run the python3 they find on the path.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.master("local[2]").config("spark.log.level", "ERROR").getOrCreate()
sales = spark.createDataFrame([("Oslo", 4), ("Rome", 5), ("Oslo", 5)], "city string, amount int")

env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
env.set_runtime_mode("BATCH")  # Spark reads a batch DataFrame in a batch only
totals = env.from_dataframe(sales).key_by("city").process(Total(), output_type=TOTAL)
totals.foreach_batch(show_largest)
env.execute("totals")

spark.stop()
