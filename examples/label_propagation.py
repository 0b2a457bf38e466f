"""Label propagation: who belongs together, by who knows whom.

Each person begins with an own label. In a superstep all tell their friends their label, and take over
the label that they hear most often, the largest of several. Labels stay inside of groups that know each
other well. The library has the algorithm; below it is written with two functions, too.

Prints:
    Ann, Ben, Cem, Dan
    Eva, Fay, Gus, Hal
    the functions give the same groups: True
"""

from collections import Counter

from millstream.graph import GatherFunction, Graph, ScatterFunction
from millstream.graph.library import LabelPropagation

FRIENDS = [
    ("Ann", "Ben"), ("Ann", "Cem"), ("Ann", "Dan"), ("Ben", "Cem"), ("Ben", "Dan"), ("Cem", "Dan"),
    ("Dan", "Eva"),
    ("Eva", "Fay"), ("Eva", "Gus"), ("Eva", "Hal"), ("Fay", "Gus"), ("Fay", "Hal"), ("Gus", "Hal"),
]  # fmt: skip
ROUNDS = 10


class TellLabel(ScatterFunction[str, str, str, None]):
    def send_messages(self, vertex):
        self.send_message_to_all_neighbors(vertex.get_value())


class TakeMostFrequent(GatherFunction[str, str, str]):
    def update_vertex(self, vertex, messages):
        counts = Counter(messages)
        label = max(counts, key=lambda each: (counts[each], each))
        # Set it also if it is the same: a vertex that has not changed would not tell its label again.
        self.set_new_vertex_value(label)


def groups(vertices):
    found: dict[str, list[str]] = {}
    for name, label in vertices:
        found.setdefault(label, []).append(name)
    return sorted(sorted(names) for names in found.values())


friends = Graph.from_collection(FRIENDS, lambda name: name).get_undirected()

by_library = groups(friends.run(LabelPropagation(ROUNDS)).collect())
for group in by_library:
    print(", ".join(group))

labelled = friends.run_scatter_gather_iteration(TellLabel(), TakeMostFrequent(), ROUNDS)
same = groups(labelled.get_vertices().collect()) == by_library
print("the functions give the same groups:", same)
