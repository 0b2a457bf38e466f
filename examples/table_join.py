"""Join tables: what customers spend, by methods and in SQL.

The tables come from streams and may change as long as the job runs: the result of the join follows
them. The same query in SQL gives the same rows. Customers without an order have spent nothing.

Prints:
    by methods:
    Ada Oslo 2 orders 49.5
    Bob Rome 1 orders 8.0
    Cyn Rome 0 orders 0.0
    in SQL:
    Ada Oslo 2 orders 49.5
    Bob Rome 1 orders 8.0
    Cyn Rome 0 orders 0.0
"""

from millstream.common import Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.table import StreamTableEnvironment
from millstream.table.expressions import col, if_then_else

CUSTOMERS = [(1, "Ada", "Oslo"), (2, "Bob", "Rome"), (3, "Cyn", "Rome")]
ORDERS = [(1, 20.0, True), (2, 8.0, True), (1, 29.5, True), (3, 99.0, False), (9, 5.0, True)]

env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)
customers = t_env.from_data_stream(
    env.from_collection(CUSTOMERS, Types.TUPLE([Types.INT(), Types.STRING(), Types.STRING()]))
).alias("id", "name", "city")
orders = t_env.from_data_stream(
    env.from_collection(ORDERS, Types.TUPLE([Types.INT(), Types.DOUBLE(), Types.BOOLEAN()]))
).alias("customer", "amount", "paid")

spent = (
    customers.left_outer_join(orders.where(col("paid")), col("id") == col("customer"))
    .group_by(col("name"), col("city"))
    .select(
        col("name"),
        col("city"),
        col("amount").count.alias("orders"),
        if_then_else(col("amount").count > 0, col("amount").sum, 0.0).alias("total"),
    )
)

t_env.create_temporary_view("customers", customers)
t_env.create_temporary_view("orders", orders)
spent_in_sql = t_env.sql_query("""
    SELECT name, city, COUNT(amount) AS orders, COALESCE(SUM(amount), 0) AS total
    FROM customers LEFT JOIN orders ON id = customer AND paid
    GROUP BY name, city
""")

for title, table in (("by methods", spent), ("in SQL", spent_in_sql)):
    print(f"{title}:")
    for row in table.to_pandas().sort_values("name").itertuples():
        print(row.name, row.city, row.orders, "orders", row.total)
