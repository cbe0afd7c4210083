package trainers

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

// PrimeRL writes sequences of tokens in the form in which prime-rl's trainer reads
// finished rollouts: the micro batches that its orchestrator writes by the transport
// "filesystem". With one data rank, the file is
//
//	OUTPUT_DIR/rollouts/step_N/rank_0.bin
//
// and the trainer, started alone, trains step N on it. For several ranks, and to pack
// short sequences together, testdata/consumers/loaders/prime_rl_ranks.py writes the
// files from sequences.parquet by prime-rl's own code.
//
// Each sequence is a micro batch. prime-rl's loss is a mean over tokens of the batch;
// weights are its rl_weights, which multiply the KL term too, and messages with losses of
// their own have its three weights. It needs advantages:
// a trajectory without one gives no row. A sequence may not be longer than the
// trainer's seq_len, and the trainer's optimizer takes one step for the file.
//
// The layout is that of prime-rl 0.8 (MicroBatch in its transports): a MessagePack
// array of arrays, whose fields have no names.
var PrimeRL = exporters.Format{
	Name: "prime-rl", Use: validate.ForGRPO, Help: "prime-rl's micro batches for its trainer with one data rank: token ids, masks, log " +
		"probabilities, advantages and weights, as rollouts/step_N/rank_0.bin", For: exporters.Training,
	Of: exporters.Rows, Files: []exporters.Extension{".bin"}, Other: begin, Loss: sequences.TokenMean,
	Credit: exporters.OfLosses, Form: 2,
}

// NoAdvantage is why a trajectory with sequences gives no micro batch.
const NoAdvantage = "no_advantage"

// environment is the name under which prime-rl's metrics have the tokens. "all" is reserved.
const environment = "rollmill"

// fields of a micro batch, in order; those from the tenth on may be nil.
const fields = 16

// add appends the micro batches of an item and returns their number.
func add(dst []byte, x *exporters.Item) ([]byte, int64) {
	given := exporters.Sequenced(func(x *exporters.Item, t *formats.Trajectory, all []sequences.Sequence) []struct{} {
		if t.Advantage == nil || math.IsNaN(*t.Advantage) {
			x.Skip(NoAdvantage)
			return nil
		}
		for i := range all {
			b := batch{s: &all[i], t: t, advantage: *t.Advantage}
			if x.Weights != nil {
				b.weight = x.Weights.Of(sequences.TokenMean, b.s, all)
			}
			dst = b.append(dst)
		}
		return make([]struct{}, len(all))
	})(x)
	return dst, int64(len(given))
}

// batch is a micro batch of one sequence.
type batch struct {
	t                 *formats.Trajectory
	s                 *sequences.Sequence
	advantage, weight float64 // a weight of 0: none is written
}

func (b *batch) append(dst []byte) []byte {
	prompt, n := len(b.s.Prompt), len(b.s.Prompt)+len(b.s.Response)
	dst = slices.Grow(dst, n*(6+1+9+9+5+9+1+len(environment)+9))
	dst = msgp.AppendArrayHeader(dst, fields)
	dst = list(dst, n) // input_ids
	for _, ids := range [][]int32{b.s.Prompt, b.s.Response} {
		for _, id := range ids {
			dst = msgp.AppendUint64(dst, uint64(id))
		}
	}
	dst = b.masked(dst, msgp.AppendBool(nil, true), msgp.AppendBool(nil, false)) // loss_mask
	dst = b.advantages(dst)
	dst = again(list(dst, n), prompt, float(0)) // inference_logprobs
	for _, v := range b.s.Logprobs {
		dst = msgp.AppendFloat64(dst, float64(v))
	}
	dst = list(dst, n) // position_ids
	for k := range n {
		dst = msgp.AppendUint64(dst, uint64(k))
	}
	dst = msgp.AppendUint64(list(dst, 1), uint64(n)) // sequence_lengths
	dst = b.temperatures(dst)
	dst = again(list(dst, n), n, msgp.AppendString(nil, environment)) // env_names
	dst = msgp.AppendUint64(list(dst, 1), uint64(n))                  // seq_lens
	l, weight := b.s.Losses, cmp.Or(b.weight, 1)
	if l == nil {
		l = &sequences.Losses{}
	}
	dst = b.tokens(dst, l.Reference, 1) // ref_logprobs
	for range 3 {                       // routed_experts, mm_kwargs, mm_token_type_ids
		dst = msgp.AppendNil(dst)
	}
	if b.weight != 0 && l.RL == nil {
		dst = b.masked(dst, float(b.weight), float(0))
	} else {
		dst = b.tokens(dst, l.RL, weight) // rl_weights
	}
	return b.tokens(b.tokens(dst, l.CE, weight), l.RefKL, weight) // ce_weights, ref_kl_weights
}

func (b *batch) advantages(dst []byte) []byte {
	if b.s.Advantages == nil {
		return b.masked(dst, float(b.advantage), float(0))
	}
	return b.tokens(dst, b.s.Advantages, 1)
}

// tokens appends values of the response's tokens, and 0 for the prompt's; nil if there are none.
func (b *batch) tokens(dst []byte, values []float32, weight float64) []byte {
	if values == nil {
		return msgp.AppendNil(dst)
	}
	dst = again(list(dst, len(b.s.Prompt)+len(values)), len(b.s.Prompt), float(0))
	for _, v := range values {
		dst = msgp.AppendFloat64(dst, float64(v)*weight)
	}
	return dst
}

// temperatures appends by which the trainer divides the logits before each token: 1,
// except where the log probabilities are of the distribution that was sampled.
func (b *batch) temperatures(dst []byte) []byte {
	dst = again(list(dst, len(b.s.Prompt)+len(b.s.Response)), len(b.s.Prompt), float(1))
	at := 0
	for i, v := range b.s.Versions {
		temperature := 1.0
		call := &b.t.Calls[b.t.Messages[b.s.Messages[i]].Call]
		if set := call.Settings().Temperature; call.LogprobsMode == formats.LogprobsProcessed && set != nil && *set > 0 {
			temperature = *set
		}
		dst = again(again(dst, int(v.Start)-at, float(1)), int(v.End-v.Start), float(temperature))
		at = int(v.End)
	}
	return dst
}

// masked appends a list with a value where tokens train, and another elsewhere.
func (b *batch) masked(dst, yes, no []byte) []byte {
	dst = again(list(dst, len(b.s.Prompt)+len(b.s.Mask)), len(b.s.Prompt), no)
	for _, trains := range b.s.Mask {
		if trains {
			dst = append(dst, yes...)
		} else {
			dst = append(dst, no...)
		}
	}
	return dst
}

func list(dst []byte, n int) []byte { return msgp.AppendArrayHeader(dst, uint32(n)) }

func float(v float64) []byte { return msgp.AppendFloat64(nil, v) }

// again appends a value several times.
func again(dst []byte, n int, value []byte) []byte {
	for range n {
		dst = append(dst, value...)
	}
	return dst
}

// sink writes a list of micro batches. A list begins with its length, so they are in
// a temporary file until their number is known; it has no name, so that nothing is
// left when the process ends.
type sink struct {
	out      io.Writer
	spool    *os.File
	buffered *bufio.Writer
	buf      []byte
	rows     int64
}

func begin(out io.Writer) exporters.Sink { return &sink{out: out} }

// Give writes the micro batches of an item.
func (s *sink) Give(x *exporters.Item) error {
	var n int64
	if s.buf, n = add(s.buf[:0], x); n == 0 {
		return nil
	}
	if s.spool == nil {
		f, err := os.CreateTemp("", "rollmill-prime-rl-*")
		if err != nil {
			return fmt.Errorf("keeping micro batches: %w", err)
		}
		_ = os.Remove(f.Name()) // an open file needs no name
		s.spool, s.buffered = f, bufio.NewWriterSize(f, 256<<10)
	}
	s.rows += n
	if _, err := s.buffered.Write(s.buf); err != nil {
		return fmt.Errorf("keeping micro batches: %w", err)
	}
	return nil
}

// Rows returns the number of micro batches.
func (s *sink) Rows() int64 { return s.rows }

// Close writes the list.
func (s *sink) Close() error {
	if _, err := s.out.Write(msgp.AppendArrayHeader(nil, uint32(s.rows))); err != nil || s.spool == nil {
		return err
	}
	defer s.spool.Close()
	if err := s.buffered.Flush(); err != nil {
		return fmt.Errorf("keeping micro batches: %w", err)
	}
	if _, err := s.spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading micro batches back: %w", err)
	}
	_, err := io.Copy(s.out, s.spool)
	return err
}
