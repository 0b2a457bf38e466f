"""How the state is kept that a job would go on from, for those who only want to see its plan."""

from __future__ import annotations

from millstream.checkpoint.folder import CheckpointFolder, RunOrigin
from millstream.checkpoint.savepoints import Savepoint
from millstream.common.paths import absolute_path, local_path
from millstream.plan.options import JobOptions
from millstream.plan.physical import Stored


def stored_layouts(options: JobOptions) -> Stored:
    """How operators keep their state, in the savepoint or the unfinished run of a job's options.

    A checkpoint directory on another machine is not looked at: a plan can be shown without it.
    """
    savepoint = None
    if options.savepoint_path is not None:
        savepoint = Savepoint.load(absolute_path(options.savepoint_path))
    directory = options.checkpoint_dir
    if directory is None or local_path(directory) is None:
        return RunOrigin(savepoint=savepoint).state
    return CheckpointFolder(absolute_path(directory)).origin(savepoint).state
