"""Steps that prepare graphs for algorithms: simple graphs, degrees at vertices and edges."""
