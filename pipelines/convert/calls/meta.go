package calls

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/spill"
)

// What the flags of a call say.
const (
	answered    = 1 << iota
	known       // calls with the same Own are the same
	named       // Own is of an id: calls with it are tries of one call
	ambiguous   // it becomes a failed row
	afterGap    // a call is missing before it
	beforeGap   // a call is missing after it
	contradicts // its id has other answers
	resampled   // several answers to the first prompt of its attempt were continued
	exact       // its answer has token ids
)

// meta is what is held of a call to link it.
type meta struct {
	N            uint64 // in order of arrival
	Own, By      Digest // By of the field's value; zero for none
	Content      uint64 // of request and answer
	Whole, Size  uint64 // of the row: a digest, and bytes
	Began, Ended int64  // in microseconds: the first try; 0 unknown; then not before the call whose answer it continues
	Parent       int    // 1 + the place in the conversation of that call; 0 for none
	Flags, Tries uint64
	Beside       uint64   // 1 + N of a copy that has what is known of the call, but no tokens; 0 for none
	Prompt       uint64   // messages
	First        Digest   // of the messages before the first of an assistant
	Alike        []uint64 // keys of it with the first answer in the prompt, else with each choice of the call
	Steps        []step
	Said         [][]uint64 // of each choice, its key as a message and then those that it may return with
}

// step is a message of an assistant in a prompt, with what follows up to the next: keys, 0 for nothing.
type step struct{ Returned, Of, Between uint64 }

// partitionBytes of a place are the same for the calls that may be of one conversation.
const partitionBytes = 24

// place returns the key by which calls are sorted to be linked.
func (j *Joiner) place(m *meta) []byte {
	at := []uint64{1, m.By.Hi, m.By.Lo}
	switch {
	case m.By != Digest{}:
	case len(m.Alike) > 0:
		at = []uint64{0, 0, j.standsFor(m.Alike[0])}
	default: // a failure with which nothing begins
		at = []uint64{0, 1, m.N}
	}
	return spill.Key(spill.Key(nil, at...), m.Prompt, m.Own.Hi, m.Own.Lo, m.Whole, m.N)
}

// standsFor returns the least of the keys that calls with several choices have in common with one, directly or not.
func (j *Joiner) standsFor(alike uint64) uint64 {
	for {
		less, is := j.alike[alike]
		if !is {
			return alike
		}
		alike = less
	}
}

// once returns the calls that the rows with one Own stand for: one, if they are its copies and tries.
// Several answers under one id contradict each other: they stay, ambiguous.
func (j *Joiner) once(all []*meta) []*meta {
	if all[0].Flags&known == 0 || len(all) == 1 {
		return all
	}
	slices.SortFunc(all, func(a, b *meta) int { // the one to keep first: answered, with tokens, of the most bytes
		return cmp.Or(-cmp.Compare(a.Flags&answered, b.Flags&answered), cmp.Compare(a.Content, b.Content),
			-cmp.Compare(a.Flags&exact, b.Flags&exact), -cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Began, b.Began), cmp.Compare(a.Whole, b.Whole))
	})
	answers := slices.IndexFunc(all, func(m *meta) bool { return m.Flags&answered == 0 })
	if answers < 0 {
		answers = len(all)
	}
	kept := slices.CompactFunc(slices.Clone(all[:answers]), func(a, b *meta) bool { return a.Content == b.Content })
	failures := all[answers:]
	switch {
	case len(kept) > 1:
		for _, m := range kept {
			m.Flags |= ambiguous | contradicts
		}
	case len(kept) == 0: // the last try
		kept = append(kept, slices.MaxFunc(failures, func(a, b *meta) int {
			return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.Began, b.Began), cmp.Compare(a.Whole, b.Whole))
		}))
	}
	if m := kept[0]; len(kept) == 1 && m.Flags&exact != 0 {
		if i := slices.IndexFunc(all[:answers], func(m *meta) bool { return m.Flags&exact == 0 }); i > 0 {
			m.Beside, m.By = 1+all[i].N, cmp.Or(all[i].By, m.By)
			m.Began, m.Ended = cmp.Or(all[i].Began, m.Began), cmp.Or(all[i].Ended, m.Ended)
		}
	}
	if m := kept[0]; len(kept) == 1 && m.Flags&named != 0 && len(failures) > 0 {
		times := map[[2]int64]bool{{m.Began, m.Ended}: true}
		began := importers.Times{Began: m.Began}
		for _, f := range failures {
			if began.Add(f.Began); f.Ended > 0 {
				times[[2]int64{f.Began, f.Ended}] = true
			}
		}
		m.Began, m.Tries = began.Began, uint64(len(times))
		j.counts.Tries += int64(m.Tries) - 1
		j.counts.Copies -= int64(m.Tries) - 1
	}
	j.counts.Copies += int64(len(all) - len(kept))
	return kept
}

// conversationBytes of a linked call's key are the same for the calls of a conversation: when it began, its
// digest, and a number that no other has. The call's place follows.
const conversationBytes = 32
