// Gguf writes a tiny language model of random weights in the GGUF format, for
// trying a real engine where no model can be had:
//
//	go run ./testdata/llama -out tiny.gguf
//
// It is a llama of two layers with a vocabulary of bytes, a few merges and the
// marks of ChatML. Of what it says nothing means anything, but it is sampled,
// counted and given logprobs as any model's answers are. Two tricks make the
// answers useful: the first number of the embeddings is the same for all
// tokens and nothing in the layers changes it, so the first column of the
// output weights is a bias for each token; and the beginning of a tool call is
// one token, so that a server which waits for it before it enforces the tools'
// grammar sees it, and the calls are well-formed.
package main

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"flag"
	"log"
	"math/rand/v2"
	"os"
)

//go:embed template.jinja
var template string

// The shape of the model.
const (
	width   = 64
	inner   = 128
	layers  = 2
	heads   = 4
	context = 8192
	callTag = "<tool_call>\n{\"name\": \""
)

func main() {
	out := flag.String("out", "tiny.gguf", "write the model to this `file`")
	seed := flag.Uint64("seed", 1, "of the weights")
	anyBytes := flag.Bool("any-bytes", false, "say any bytes, most of which are no text, instead of printable ones")
	call := flag.Float64("call", 6, "bias of beginning a tool call")
	end := flag.Float64("end", 5, "bias of ending an answer")
	flag.Parse()
	m := newModel(*seed, bias(*anyBytes, float32(*call), float32(*end)))
	if err := os.WriteFile(*out, m.bytes(), 0o666); err != nil {
		log.Fatal(err)
	}
}

// Tokens after the 256 bytes.
const (
	firstMerge = 256
	firstMark  = firstMerge + 5
	endOfText  = firstMark
	begin      = firstMark + 1
	endOfTurn  = firstMark + 2
	beginCall  = firstMark + 3
	endCall    = firstMark + 4
	vocabulary = firstMark + 5
)

// bias is what each token gets whatever was said before.
func bias(anyBytes bool, call, end float32) []float32 {
	b := make([]float32, vocabulary)
	for id := range b {
		printable := id == '\n' || id >= ' ' && id <= '~' || id >= firstMerge && id < firstMark
		switch {
		case id == beginCall:
			b[id] = call
		case id == endOfTurn:
			b[id] = end
		case printable, anyBytes && id < 256:
			b[id] = 3
		default:
			b[id] = -20
		}
	}
	return b
}

// Types of metadata values.
const (
	typeInt32   = 5
	typeUint32  = 4
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

type model struct {
	keys, tensors         bytes.Buffer // descriptions
	data                  bytes.Buffer
	keyCount, tensorCount uint64
	random                *rand.Rand
}

func newModel(seed uint64, bias []float32) *model {
	m := &model{random: rand.New(rand.NewPCG(seed, 0))}
	m.describe()
	m.tokenizer()
	m.weights(bias)
	return m
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)))
			b.WriteString(s)
			continue
		}
		binary.Write(b, binary.LittleEndian, v)
	}
}

func (m *model) set(key string, kind uint32, value any) {
	m.keyCount++
	put(&m.keys, key, kind, value)
}

func (m *model) setList(key string, kind uint32, n int, values ...any) {
	m.keyCount++
	put(&m.keys, key, uint32(typeArray), kind, uint64(n))
	put(&m.keys, values...)
}

func (m *model) describe() {
	m.set("general.architecture", typeString, "llama")
	m.set("general.name", typeString, "tiny random")
	for _, n := range []struct {
		key string
		n   uint32
	}{{"context_length", context}, {"embedding_length", width}, {"block_count", layers}, {"feed_forward_length", inner}, {"attention.head_count", heads},
		{"attention.head_count_kv", heads}, {"rope.dimension_count", width / heads}, {"vocab_size", vocabulary}} {
		m.set("llama."+n.key, typeUint32, n.n)
	}
	m.set("llama.attention.layer_norm_rms_epsilon", typeFloat32, float32(1e-5))
}

func (m *model) tokenizer() {
	const normal, control, userDefined = 1, 3, 4
	var tokens, merges []any
	kinds := make([]int32, vocabulary)
	for b := range 256 {
		tokens, kinds[b] = append(tokens, visible(byte(b))), normal
	}
	for i, pair := range [...][2]string{{"h", "e"}, {"l", "l"}, {"t", "h"}, {"i", "n"}, {"e", "r"}} {
		tokens, merges, kinds[firstMerge+i] = append(tokens, pair[0]+pair[1]), append(merges, pair[0]+" "+pair[1]), normal
	}
	for i, mark := range [...]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", callTag, "</tool_call>"} {
		tokens, kinds[firstMark+i] = append(tokens, mark), control
	}
	kinds[beginCall], kinds[endCall] = userDefined, userDefined
	m.set("tokenizer.ggml.model", typeString, "gpt2")
	m.set("tokenizer.ggml.pre", typeString, "gpt-2")
	m.setList("tokenizer.ggml.tokens", typeString, len(tokens), tokens...)
	m.setList("tokenizer.ggml.token_type", typeInt32, len(kinds), kinds)
	m.setList("tokenizer.ggml.merges", typeString, len(merges), merges...)
	m.set("tokenizer.ggml.bos_token_id", typeUint32, uint32(endOfText))
	m.set("tokenizer.ggml.eos_token_id", typeUint32, uint32(endOfTurn))
	m.set("tokenizer.ggml.add_bos_token", typeBool, false)
	m.set("tokenizer.chat_template", typeString, template)
}

// visible is the letter by which byte-level vocabularies write a byte: itself
// where it can be seen, and else one of those from U+0100 on, in order.
func visible(b byte) string {
	seen := func(b byte) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b != 0xad }
	if seen(b) {
		return string(rune(b))
	}
	n := rune(0)
	for c := byte(0); c < b; c++ {
		if !seen(c) {
			n++
		}
	}
	return string(0x100 + n)
}

func (m *model) weights(bias []float32) {
	m.tensor("token_embd.weight", vocabulary, width, func(_, column int) (float32, bool) { return 4, column == 0 })
	m.tensor("output.weight", vocabulary, width, func(row, column int) (float32, bool) {
		if column == 0 {
			return bias[row], true
		}
		return 0, row == beginCall || row == endOfTurn // as likely everywhere
	})
	m.ones("output_norm.weight")
	keepFirst := func(row, _ int) (float32, bool) { return 0, row == 0 }
	for l := range layers {
		p := "blk." + string(rune('0'+l)) + "."
		m.ones(p + "attn_norm.weight")
		m.ones(p + "ffn_norm.weight")
		for _, name := range []string{"attn_q", "attn_k", "attn_v"} {
			m.tensor(p+name+".weight", width, width, nil)
		}
		m.tensor(p+"attn_output.weight", width, width, keepFirst)
		m.tensor(p+"ffn_gate.weight", inner, width, nil)
		m.tensor(p+"ffn_up.weight", inner, width, nil)
		m.tensor(p+"ffn_down.weight", width, inner, keepFirst)
	}
}

const alignment = 32

// tensor adds a matrix of random numbers, but for those that fixed says.
func (m *model) tensor(name string, rows, columns int, fixed func(row, column int) (float32, bool)) {
	m.tensorCount++
	put(&m.tensors, name, uint32(2), uint64(columns), uint64(rows), uint32(0), uint64(m.data.Len()))
	all := make([]float32, 0, rows*columns)
	for r := range rows {
		for c := range columns {
			x := float32(m.random.NormFloat64() * 0.2)
			if fixed != nil {
				if v, is := fixed(r, c); is {
					x = v
				}
			}
			all = append(all, x)
		}
	}
	put(&m.data, all)
	pad(&m.data)
}

func (m *model) ones(name string) {
	m.tensorCount++
	put(&m.tensors, name, uint32(1), uint64(width), uint32(0), uint64(m.data.Len()))
	for range width {
		put(&m.data, float32(1))
	}
	pad(&m.data)
}

func pad(b *bytes.Buffer) { b.Write(make([]byte, (alignment-b.Len()%alignment)%alignment)) }

func (m *model) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(3), m.tensorCount, m.keyCount)
	b.Write(m.keys.Bytes())
	b.Write(m.tensors.Bytes())
	pad(&b)
	b.Write(m.data.Bytes())
	return b.Bytes()
}
