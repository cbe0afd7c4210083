package randomtest

import (
	"math"
	"math/rand/v2"
	"sync"
)

// vocabulary is a fixed language: words by rank, each with the token ids of a
// BPE vocabulary trained on them. Every random draw uses a table, so that
// making rows takes a fraction of the time of writing them.
type vocabulary struct {
	words  [1 << 13]word
	draw   [1 << 15]uint16  // a word, according to Zipf's law
	logits [1 << 10]float32 // of a token, by its id: bf16 numbers
	above  [1 << 12]float32 // logsumexp less the token's logit: mostly near 0, with a long tail
}

// word has a fixed size: text and ids are copied with constant sizes and cut
// afterwards.
type word struct {
	text   [16]byte
	ids    [4]int32
	size   uint8 // bytes of text
	tokens uint8
}

var language = sync.OnceValue(func() *vocabulary {
	r := rand.New(rand.NewPCG(1, 2))
	v := &vocabulary{}
	used := map[string]bool{}
	for rank := range v.words {
		v.words[rank] = newWord(r, rank, used)
	}
	zipf(v.draw[:])
	for i := range v.logits {
		v.logits[i] = bf16(float32(14 + float64(14*r.Float64())))
	}
	for i := range v.above {
		v.above[i] = surprise((float64(i) + 0.5) / float64(len(v.above)))
	}
	return v
})

// surprise returns a quantile of the negative log probability of a sampled
// token: two tokens in three are nearly certain.
func surprise(q float64) float32 {
	if q < 0.65 {
		return float32(1e-6 * math.Pow(1e5, q/0.65))
	}
	return float32(0.1 - float64(1.1*math.Log(1-float64((q-0.65)/0.35*0.999))))
}

func zipf(table []uint16) {
	var total float64
	weight := func(rank int) float64 { return 1 / (float64(rank) + 2.7) }
	for rank := range len(vocabulary{}.words) {
		total += weight(rank)
	}
	rank, reached := 0, weight(0)
	for i := range table {
		for reached < total*(float64(i)+0.5)/float64(len(table)) && rank < len(vocabulary{}.words)-1 {
			rank++
			reached += weight(rank)
		}
		table[i] = uint16(rank)
	}
}

const (
	onsets = "bcdfghklmnprstvw"
	nuclei = "aeiou"
	codas  = "nrstlm"
)

// newWord makes the word of a rank, different from all others: frequent words
// are short and one token, rare ones are long and share their pieces.
func newWord(r *rand.Rand, rank int, used map[string]bool) word {
	for {
		text := []byte{' '}
		if rank%53 == 7 {
			text = []byte{".,;:\n"[rank%5]}
		}
		for len(text) < 2+bitLength(rank)/2 {
			text = append(text, onsets[r.IntN(len(onsets))], nuclei[r.IntN(len(nuclei))])
			if r.IntN(3) == 0 {
				text = append(text, codas[r.IntN(len(codas))])
			}
		}
		if used[string(text)] {
			continue
		}
		used[string(text)] = true
		return tokenised(r, rank, text)
	}
}

func tokenised(r *rand.Rand, rank int, text []byte) word {
	w := word{size: uint8(len(text)), tokens: 1}
	copy(w.text[:], text)
	if rank > 1500 {
		w.tokens = 2 + uint8(rank%2)
	}
	w.ids[0] = int32(220 + 9*rank)
	for i := 1; i < int(w.tokens); i++ {
		w.ids[i] = int32(220 + 9*r.IntN(1500) + 3)
	}
	return w
}

func bf16(f float32) float32 { return math.Float32frombits(math.Float32bits(f) &^ 0xffff) }

func bitLength(n int) int {
	bits := 0
	for ; n > 0; n >>= 1 {
		bits++
	}
	return bits
}
