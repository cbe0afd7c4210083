// Package journals keeps the finished rows of a shard durable until they are in a part, and
// yields them again, sorted, in bounded memory. A segment is one object that is complete or
// absent.
//
// It does not know which rows a shard still needs: rollout compares them with its plan. A
// second journal of a shard is another Place: see shards.Shard.Journal and Calls.
package journals
