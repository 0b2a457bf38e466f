"""Values that travel between vertices and the far ends of edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millstream.common.errors import MillstreamError
from millstream.graph.kernel.links import Links
from millstream.iteration import Task

EDGES = [(1, 2), (1, 3), (2, 3), (3, 1), (4, 4), (9, 1)]


def linked(count: int) -> list[Links]:
    found = []
    for index in range(count):
        task = Task(index, count)
        mine = [edge for edge in EDGES if task.owner_of([edge[0]])[0] == index]
        near, far = (np.array([edge[side] for edge in mine], np.int64) for side in (0, 1))
        found.append(Links(task, near, far))
    sent = [links.announce() for links in found]
    for links in found:
        links.link([parts[links.index] for parts in sent])
    return found


def carried(several: list[Links], messages: list[Any]) -> list[Any]:
    return [[parts[links.index] for parts in messages] for links in several]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("some", [False, True])
def test_owners_get_the_values_of_slots_and_slots_those_of_owners(count: int, some: bool) -> None:
    several = linked(count)
    names = sorted(name for links in several for name in links.vertices.ids.tolist())
    assert names == [1, 2, 3, 4, 9]
    up = []
    for links in several:
        slots = np.arange(links.slots) if not some else np.flatnonzero(links.slot_ids == 3)
        up.append(links.to_owners("v", links.slot_ids * 10, slots))
    for links, inbox in zip(several, carried(several, up), strict=True):
        for places, values in links.from_slots("v", inbox):
            assert (links.vertices.ids[places] * 10).tolist() == values.tolist()
            assert not some or set(values.tolist()) == {30}
    down = []
    for links in several:
        ids = links.vertices.ids
        places = None if not some else np.flatnonzero(ids == 1)
        down.append(links.to_slots("v", ids * 10, places))
    for links, inbox in zip(several, carried(several, down), strict=True):
        heard: dict[int, int] = {}
        for slots, values in links.from_owners("v", inbox):
            heard |= dict(zip(links.slot_ids[slots].tolist(), values.tolist(), strict=True))
        wanted = links.slot_ids.tolist() if not some else [1] if 1 in links.slot_ids else []
        assert heard == {name: name * 10 for name in wanted}


def test_a_few_values_travel_with_their_places_and_many_without() -> None:
    task = Task(0, 1)
    far = np.arange(100)
    links = Links(task, np.zeros(100, np.int64), far)
    links.link(links.announce())
    few = links.to_owners("v", far.astype(float), np.array([3, 4]))[0]
    most = links.to_owners("v", far.astype(float), np.arange(90))[0]
    assert few is not None and most is not None
    assert few["v@"].tolist() == [3, 4]
    assert "v@" not in most
    assert links.to_owners("v", far.astype(float), np.zeros(0, np.int64)) == [None]


def test_edges_to_vertices_that_are_not_there_are_an_error() -> None:
    links = Links(Task(0, 1), np.array([1]), np.array([7]), np.array([1, 2]))
    with pytest.raises(MillstreamError, match="7") as error:
        links.link(links.announce())
    assert error.value.code == "GRAPH_UNKNOWN_VERTEX"


def test_edges_from_vertices_that_are_not_there_are_an_error() -> None:
    with pytest.raises(MillstreamError, match="8") as error:
        Links(Task(0, 1), np.array([8]), np.array([1]), np.array([1, 2]))
    assert error.value.code == "GRAPH_UNKNOWN_VERTEX"


def test_two_vertices_with_one_id_are_an_error() -> None:
    with pytest.raises(MillstreamError, match="2") as error:
        Links(Task(0, 1), np.array([1]), np.array([1]), np.array([1, 2, 2]))
    assert error.value.code == "GRAPH_DUPLICATE_VERTEX"
