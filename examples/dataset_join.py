"""Join orders with users by the DataSet API, and find who spent most; `explain` says how it runs.

    python examples/dataset_join.py

Prints:
    Extreme
    ('Ada', 27)
    users without orders: ['Cem']
"""

from millstream.dataset import ExecutionEnvironment

env = ExecutionEnvironment.get_execution_environment()
users = env.from_elements((1, "Ada"), (2, "Bob"), (3, "Cem"))
orders = env.from_elements((1, 20), (2, 5), (1, 7))

# Fields and built-in aggregates: all of it runs in Spark's engine.
bought = orders.join(users).where(0).equal_to(0).project_second(1).project_first(1)
best = bought.group_by(0).sum(1).max_by(1).name("Extreme")
print(best.explain().split(":")[0])
for name, spent in best.collect():
    print((name, spent))

# A function gets None where an outer join finds no partner.
paired = users.left_outer_join(orders).where(0).equal_to(0)
without = paired.using(lambda user, order: [user[1]] if order is None else [], flat=True)
print("users without orders:", without.collect())
