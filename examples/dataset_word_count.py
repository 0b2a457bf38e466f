"""Count words with the DataSet API.

    python examples/dataset_word_count.py

Prints:
    ('be', 2)
    ('is', 1)
    ('not', 1)
    ('or', 1)
    ('question', 1)
    ('that', 1)
    ('the', 1)
    ('to', 2)
"""

from millstream.common import Types
from millstream.dataset import ExecutionEnvironment

LINES = ["To be or not to be", "that is the question"]
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])

env = ExecutionEnvironment.get_execution_environment()
lines = env.from_collection(LINES)  # or env.read_text(path)

words = lines.flat_map(lambda line: [(word, 1) for word in line.lower().split()], PAIR)
for pair in sorted(words.group_by(0).sum(1).collect()):
    print(pair)
