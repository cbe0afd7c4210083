// Package shards writes datasets. A shard writes parts under names that no other writer can
// use, then its record; the first record wins. When the records of all shards are there,
// Commit seals the dataset: see package seal.
//
//	shard, err := shards.Begin(ctx, uri, spec, shards.Options{})
//	table := shards.NewTable[formats.Trajectory](shard, "", -1)
//	err = table.Write(ctx, rows) // one group for each call
//	result, err := shard.Commit(ctx, shards.Outcome{})
//
// Pages of other datasets are copied as they are: TableWriter.Copy takes the payload of
// wide rows, TableWriter.CopyColumns the columns that two datasets share. Compact writes
// the parts of a sealed dataset again, fewer and larger.
//
// A further table needs its row type in package formats, a line in the digesters of package
// dataset and in mergers here. The tests of this package are those of the whole protocol,
// of writers that die and of writers that race.
package shards
