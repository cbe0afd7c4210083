package group

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

type job struct {
	o     *Options
	in    *input
	shard *shards.Shard
	slice dataset.Range // of the base: the rows that the shard writes
	tally *tally
	meter *stages.Meter

	estimator Estimator
}

func (j *job) begin(ctx context.Context) (err error) {
	of := j.o.Out.Shard.Of()
	j.shard, err = shards.Begin(ctx, j.o.Out.URI, j.in.spec(j.o),
		shards.Options{Shard: of.Index, Of: of.Count, Overwrite: j.o.Out.Overwrite})
	return err
}

func (j *job) grouper() Grouper {
	return Grouper{Estimator: j.estimator, Setup: j.o.setup()}
}

// pairer returns what makes pairs and labels, whose facts are the tally's.
func (j *job) pairer() *pairs.Writer {
	p := pairs.New(j.shard, j.o.Pairs, j.o.Labels, j.o.solved(), j.o.tolerance())
	j.tally.pairs = p.Facts
	return p
}

func (j *job) members() *shards.TableWriter[formats.Member] {
	return shards.NewTable[formats.Member](j.shard, "", j.slice.First)
}

func (j *job) groups() *shards.TableWriter[formats.GroupStats] {
	return shards.NewTable[formats.GroupStats](j.shard, schema.TableGroups, -1)
}

// holds reports whether the shard writes a row of the base.
func (j *job) holds(at int64) bool { return at >= j.slice.First && at < j.slice.First+j.slice.Rows }
