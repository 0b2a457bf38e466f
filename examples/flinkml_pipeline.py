"""A pipeline of FlinkML: scale features, make polynomials of them, and fit a linear regression.

The numbers are those of a cubic with noise. The pipeline is fitted on one part of them and tested on the
other one, and is the same object for arrays, pandas, DataFrames and tables.

Prints:
    Pipeline([StandardScaler(), PolynomialFeatures(degree=3), MultipleLinearRegression()])
    R² on new data: 0.998
    prediction at 2.0: 8.0
    weights: 5.017 -5.944 7.041, intercept: -0.04
"""

import numpy as np

from millstream.ml import (
    MultipleLinearRegression,
    PolynomialFeatures,
    Splitter,
    StandardScaler,
)

random = np.random.default_rng(7)
x = random.uniform(-3, 3, 400)
data = np.column_stack([x, x**3 - 2 * x**2 + 4 * x + random.normal(0, 1, 400)])
training, testing = Splitter.train_test_split(data, fraction=0.8, precise=True, seed=1)

scaler = StandardScaler()
polynomial_features = PolynomialFeatures().set_degree(3)
mlr = MultipleLinearRegression()
pipeline = scaler.chain_transformer(polynomial_features).chain_predictor(mlr)
print(pipeline)

model = pipeline.fit(training[:, :1], training[:, 1])
print(f"R² on new data: {model.score(testing[:, :1], testing[:, 1]):.3f}")
print(f"prediction at 2.0: {model.predict([[2.0]])[0]:.1f}")

weights, intercept = model[2].weights
shown = " ".join(f"{weight:.4}" for weight in weights.values)
print(f"weights: {shown}, intercept: {intercept:.2f}")
