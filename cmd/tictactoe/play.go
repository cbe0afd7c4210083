package main

import (
	"encoding/json"
	"fmt"
	"io"
)

const instructions = `You play tic-tac-toe as %c against %c. Rows are A to C, columns 1 to 3, and a dot is free. ` +
	`Answer with your move and nothing else, as XML: <move>B2</move>`

// result is the agent's output at the end of a game.
type result struct {
	Metadata map[string]any `json:"metadata"`
	Stop     string         `json:"stop"`
}

// play reads an example from in, plays its game and writes the result. A lost game
// or an illegal move is a result; only a failing model is an error.
func play(in io.Reader, out io.Writer, getenv func(string) string) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("reading the example: %w", err)
	}
	me, err := t.mark()
	if err != nil {
		return err
	}
	seed, err := t.opponent()
	if err != nil {
		return err
	}
	model, err := newModel(getenv)
	if err != nil {
		return err
	}
	g := game{board: NewBoard(), me: me, seed: seed}
	if err := g.play(model.reply); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result{
		Metadata: map[string]any{"outcome": g.outcome, "moves": g.moves, "board": string(g.board[:])},
		Stop:     "done",
	})
}

type game struct {
	board   Board
	me      Mark
	seed    int64
	moves   int // the model's legal moves
	outcome string
}

// play asks for moves until the game ends.
func (g *game) play(reply func([]message) (string, error)) error {
	messages := []message{{"system", fmt.Sprintf(instructions, g.me, g.me.Other())}}
	for turn := X; !g.board.Over(); turn = turn.Other() {
		if turn != g.me {
			g.board = g.board.With(Reply(g.seed, g.board), turn)
			continue
		}
		messages = append(messages, message{"user", g.board.String() + "\nYour move."})
		text, err := reply(messages)
		if err != nil {
			return fmt.Errorf("move %d: %w", g.moves+1, err)
		}
		messages = append(messages, message{"assistant", text})
		square, ok := ReadMove(text)
		if !ok || g.board[square] != Empty {
			g.outcome = "illegal"
			return nil
		}
		g.board = g.board.With(square, g.me)
		g.moves++
	}
	g.outcome = g.ending()
	return nil
}

func (g *game) ending() string {
	switch {
	case g.board.Won(g.me):
		return "won"
	case g.board.Won(g.me.Other()):
		return "lost"
	default:
		return "drawn"
	}
}
