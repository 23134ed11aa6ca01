"""Skill tests: a SKILL.md, proven across harnesses and models.

A `Skill` is a folder that the validator has read. A `Case` says what is asked of it and which evals must hold. A
`Provider` is the boundary to everything that answers: it runs the skill (`respond`), plays the user and judges.
A cell is one case × platform × model × repeat × arm; the conversation of a cell and its evals are `run_cell`, and an
`Executor` runs many. What the cells came to is a `Report`, which is counted (`statistics`), compared and written.

Every provider call of a cell is a turn of a run. Which harnesses there are is the harness room's business; who may
merge something because of a report, nobody's here.
"""
