"""Count words.

    python examples/01_word_count.py [FILE OR FOLDER]

A job runs as a stream unless told otherwise, so it prints a new count after every word. With
``env.set_runtime_mode("BATCH")`` it prints each word once, with its last count.

Prints:
    ('to', 1)
    ('be', 1)
    ('or', 1)
    ('not', 1)
    ('to', 2)
    ('be', 2)
    ('that', 1)
    ('is', 1)
    ('the', 1)
    ('question', 1)
"""

import sys

from millstream.datastream import StreamExecutionEnvironment

LINES = ["To be or not to be", "that is the question"]

env = StreamExecutionEnvironment.get_execution_environment()
lines = env.read_text_file(sys.argv[1]) if len(sys.argv) > 1 else env.from_collection(LINES)

words = lines.flat_map(lambda line: line.lower().split()).map(lambda word: (word, 1))
words.key_by(lambda pair: pair[0]).sum(1).print()

env.execute("word count")
