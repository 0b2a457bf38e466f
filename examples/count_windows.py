"""Windows without an end: a trigger says when they fire, an evictor what they keep.

Cars report their speed and distance every second. Whenever a car has driven another 50 m, its top speed
of the last 10 seconds is shown. Beside it, every third report of a car gives the mean speed of its last
five, and every fourth one of all cars gives the mean of just those four.

Prints:
    0 s: car 1, top speed: 90 km/h
    0 s: car 1, top speed: 90 km/h
    1 s: all, mean of 4: 71.2 km/h
    2 s: car 0, mean of 3: 60.0 km/h
    2 s: car 1, mean of 3: 81.7 km/h
    3 s: all, mean of 4: 67.5 km/h
    3 s: car 0, top speed: 80 km/h
    4 s: car 0, top speed: 85 km/h
    5 s: all, mean of 4: 55.0 km/h
    5 s: car 0, mean of 5: 74.0 km/h
    5 s: car 1, mean of 5: 53.0 km/h
    7 s: all, mean of 4: 63.8 km/h
    8 s: car 0, mean of 5: 67.0 km/h
    8 s: car 1, mean of 5: 53.0 km/h
    9 s: all, mean of 4: 62.5 km/h
"""

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    GlobalWindows,
    TimeEvictor,
)

SPEEDS = {0: [50, 60, 70, 80, 85, 75, 70, 60, 45, 40], 1: [90, 85, 70, 50, 30, 30, 50, 75, 80, 85]}


def reports():
    """Tuples of car, speed in km/h, metres from the start, and second."""
    metres = dict.fromkeys(SPEEDS, 0.0)
    for second in range(10):
        for car, speeds in SPEEDS.items():
            metres[car] += speeds[second] / 3.6
            yield car, speeds[second], metres[car], second


class MeanOfCar(ProcessWindowFunction):
    def process(self, key, context, elements):
        cars = list(elements)
        mean = sum(car[1] for car in cars) / len(cars)
        yield f"{cars[-1][3]} s: car {key}, mean of {len(cars)}: {mean:.1f} km/h"


class MeanOfAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        cars = list(elements)
        mean = sum(car[1] for car in cars) / len(cars)
        yield f"{cars[-1][3]} s: all, mean of {len(cars)}: {mean:.1f} km/h"


env = StreamExecutionEnvironment.get_execution_environment()
report = Types.TUPLE([Types.INT(), Types.INT(), Types.DOUBLE(), Types.LONG()])
cars = env.from_collection(list(reports()), report).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda car, _: car[3] * 1_000
    )
)
by_car = cars.key_by(lambda car: car[0])

top_speeds = (
    by_car.window(GlobalWindows.create())
    .evictor(TimeEvictor.of("10 s"))
    .trigger(DeltaTrigger.of(50, lambda old, new: new[2] - old[2], report))
    .max_by(1)
    .map(lambda car: f"{car[3]} s: car {car[0]}, top speed: {car[1]} km/h", Types.STRING())
)
means = (
    by_car.window(GlobalWindows.create())
    .trigger(CountTrigger.of(3))
    .evictor(CountEvictor.of(5))
    .process(MeanOfCar(), Types.STRING())
)
of_four = cars.count_window_all(4).process(MeanOfAll(), Types.STRING())

with top_speeds.union(means, of_four).execute_and_collect("count windows") as lines:
    print(*sorted(lines), sep="\n")
