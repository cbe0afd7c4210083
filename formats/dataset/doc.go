// Package dataset opens datasets and reads their rows. A dataset is a manifest and its
// parts at a URI prefix:
//
//	part-<shard>-of-<n>-<seq>-<digest8>.parquet  the main table
//	_<table>/part-….parquet                      further tables
//	_dataset.json                                the manifest
//	.rollmill/<identity>-<n>/shard-<i>.json      one create-only record a shard
//	.rollmill/<identity>-<n>/journal-<i>/…       finished rows not yet in a part
//	.rollmill/<identity>-<n>/journal-<i>-calls/… answered calls of rows that may not be finished
//	.rollmill/<identity>-<n>/journal-<i>-workspaces/… what attempts left, by digest, until it is in a part
//	.rollmill/<identity>-<n>/lease-<i>.json      who is at work on the shard
//	.rollmill/failures/<digest>.txt              what a program said when it failed, see Failures
//
// The floors, each of which uses only those below it:
//
//	shards      writes: Begin, NewTable, Write, Commit; and Compact, which writes parts again
//	dataset     reads: Open, then Each or NewReader; Verify
//	seal        what lies at the place: records, the current manifest, leftovers, what is under way
//	journals    finished rows of a shard that is not complete
//	runroot     the run that a dataset belongs to     storetime   the clock of a store     lease   who is at work
//	manifest    what a dataset is: its spec, identity, manifest, and the checks of these
//
// Start at Open here, at shards.Begin for a writer, and at manifest.Manifest for the format.
// Whatever decides rows belongs in manifest.Spec; whatever a manifest says, into
// manifest.Content. A new object beside the parts gets its key in seal, and a line above.
//
// A dataset of a newer minor version of the schema is read by the columns that this
// version knows; its parts are verified, and NewColumnReader reads the others by name.
// Nothing is made of it, because the others would be lost: see Dataset.Known. The
// alternative, to carry columns of unknown types through every stage, cost more code
// than the stages that it served.
package dataset
