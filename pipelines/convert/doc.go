// Package convert has the engines of the commands import and export: trajectories
// that other programs stored become a dataset (Import), and datasets become files
// of other programs (Export). What a format is, formats/foreign says.
//
// # Import
//
// Import takes the place of rollout.
//
// A format of formats/foreign/importers converts each record of the files. This package
// gives the rows their ids, sorts them into groups, and writes one wide dataset,
// with the preferences and labels of the source in _pairs and _labels. Ids
// depend only on the content and on the source's own ids, so that one
// trajectory has the same id wherever it is imported. A shard writes the
// examples that belong to it, and reads everything.
//
// Groups whose rows are adjacent in the source are written as they come. If the
// rows of a group turn out to be scattered, the import starts again and sorts,
// in bounded memory.
//
// # Export
//
// Export reads any dataset group by group: a wide one as it is, a thin one joined
// with its base, whose rows then have the scores, the groups and the advantages.
// Each file is a draft that is named when all are whole; a folder's documents
// appear one by one, whole. With the same dataset and options, the bytes are the
// same.
//
// A row that a format cannot hold as a whole is refused by name, or with Lossy
// written without the part and counted. What has no row in a format at all (a
// tie where a pair is asked for) is counted by reason, as submit does.
package convert
