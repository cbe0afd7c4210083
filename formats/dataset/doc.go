// Package dataset reads and writes datasets: a manifest and its parts at a URI
// prefix.
//
//	part-<shard>-of-<n>-<seq>-<digest8>.parquet  the main table
//	_<table>/part-….parquet                      further tables
//	_dataset.json                                the manifest
//	.rollmill/<identity>-<n>/shard-<i>.json      one create-only record a shard
//	.rollmill/<identity>-<n>/journal-<i>/…       finished rows not yet in a part
//	.rollmill/<identity>-<n>/journal-<i>-calls/… answered calls of rows that may not be finished
//	.rollmill/failures/<digest>.txt              what a program said when it failed, see Failures
//	.rollmill/<identity>-<n>/lease-<i>.json      who is at work on the shard, see Slot
//
// A shard writes parts under names that no other writer can use, then its
// record; the first record wins. n records make up the dataset: the manifest is
// a pure function of them, and any process that finds all of them may write it.
// Objects that no record of the winning identity names are invisible and are
// removed when the dataset is sealed.
//
// Of a pruned dataset only the manifest is left, in another format, which says
// when and why the rest was removed: see Pruned. Readers refuse it; a writer
// replaces it only when asked to overwrite. Survey and Folder are what prune uses.
//
// A dataset of a newer minor version of the schema is read by the columns that this
// version knows; its parts are verified, and NewColumnReader reads the others by name.
// Nothing is made of it, because the others would be lost: see Dataset.Known. The
// alternative, to carry columns of unknown types through every stage, cost more code
// than the stages that it served.
//
// Parquet files that another tool wrote are a wide dataset, too, without a
// manifest or with one that says so: see Plain, plainRow and the guide
// "datasets".
//
// Reading: Open, then NewReader. Writing: Begin, Table, Write, Commit.
package dataset
