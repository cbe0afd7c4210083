// Package convert implements the commands import and export. Import makes a
// dataset from trajectories that other programs stored. Export makes files of
// other programs from a dataset. Package formats/foreign has the formats.
//
// # Import
//
// Import takes the place of rollout.
//
// A format of formats/foreign/importers converts each record of the files. This package gives
// the rows their ids, sorts them into groups, and writes one wide dataset, with the preferences
// and labels of the source in _pairs and _labels. Ids depend only on the content and on the
// source's own ids, so that one trajectory has the same id wherever it is imported. A shard
// reads everything and writes only its own examples.
//
// Groups whose rows are adjacent in the source are written as they come. If the rows of a group
// turn out to be scattered, the import starts again and sorts, in bounded memory.
//
// # Export
//
// Export reads any dataset group by group. It joins a thin dataset with its base,
// so that the rows have the scores, the groups and the advantages. Files get their
// names when all of them are complete; a folder's documents appear one by one,
// each complete. The same dataset and options give the same bytes.
//
// If a format cannot hold a whole row, Export fails and names the row; with Lossy it writes the
// row without that part and counts it. What has no row in a format at all, such as a tie where a
// pair is required, is counted by reason, as in submit.
package convert
