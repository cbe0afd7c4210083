"""The same reward with the Python module, once a row and once a batch."""
from rollmill import reward


@reward
def short(row):
    return len(row["answer"]) < 100


@reward(batch=True)
def shorts(rows):
    import pyarrow.compute as pc

    return pc.less(pc.utf8_length(rows["answer"]), 100)
