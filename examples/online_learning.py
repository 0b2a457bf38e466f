"""Learn from a stream while predicting for it: on which pages do visitors click?

Each view of a page is predicted with the newest model before it; then the model learns from it. Ten
views make a version of a logistic regression, by FTRL. After the 60th view visitors want something
else: the predictions become wrong, and the model follows. There is one channel, so the result is
the same in each run, also after a crash or from a savepoint.

Prints:
    version  1: 20 predictions right, P(click on news) = 0.65
    version  2: 10 predictions right, P(click on news) = 0.73
    version  3: 10 predictions right, P(click on news) = 0.79
    version  4: 10 predictions right, P(click on news) = 0.82
    version  5: 10 predictions right, P(click on news) = 0.85
    version  6:  0 predictions right, P(click on news) = 0.87
    version  7:  0 predictions right, P(click on news) = 0.74
    version  8:  0 predictions right, P(click on news) = 0.60
    version  9: 10 predictions right, P(click on news) = 0.47
    version 10: 10 predictions right, P(click on news) = 0.38
    version 11: 10 predictions right, P(click on news) = 0.31
"""

from collections import defaultdict

from millstream.common import Row, Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.classification.logisticregression import OnlineLogisticRegression
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors

PAGES = {"news": Vectors.dense(1.0, 0.0), "sports": Vectors.dense(0.0, 1.0)}
VIEW = Types.ROW_NAMED(["features", "label"], [DenseVectorTypeInfo(), Types.DOUBLE()])


def view(number):
    """A page, and 1 if there was a click."""
    page = ("news", "sports")[number % 2]
    wanted = "news" if number < 60 else "sports"
    return PAGES[page], float(page == wanted)


env = StreamExecutionEnvironment.get_execution_environment()
views = env.from_collection([view(number) for number in range(120)], VIEW)

learner = OnlineLogisticRegression(global_batch_size=10, alpha=3.0, beta=1.0)
learner.set_initial_model_data(Row(coefficient=Vectors.dense(0.0, 0.0), modelVersion=0))
model = learner.fit(views)

right: dict[int, int] = defaultdict(int)
clicks = {}
for row in model.transform(views).execute_and_collect():
    right[row.modelVersion] += row.prediction == row.label
    if row.features == PAGES["news"]:
        clicks[row.modelVersion] = row.rawPrediction.get(1)
for version, count in right.items():
    print(
        f"version {version:2}: {count:2} predictions right, P(click on news) = {clicks[version]:.2f}"
    )
