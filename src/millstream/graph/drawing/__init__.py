"""Pictures of graphs: places of vertices, and what is drawn there."""
