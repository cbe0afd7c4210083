// Command tictactoe is an agent that plays tic-tac-toe with a language model, and
// the rewards that score its games. It is an ordinary program that knows only the
// OpenAI base URL of the model.
//
//	tictactoe play      plays one game: reads an example from standard input and
//	                    calls the model at OPENAI_BASE_URL
//	tictactoe reward    scores the moves of games by searching the game tree:
//	                    reads requests from standard input and writes rewards to
//	                    standard output, one JSON object per line
//	tictactoe won       the same, but 1 for a won game and 0 for any other
//	tictactoe examples  writes examples, one per line: --count N --seed S --offset K
//
// An example is {"id","question","side","seed"}: side is the mark that the model plays, seed the
// seed of its opponent. Examples of one --seed with different offsets have different opponents,
// so these commands make a training set and a held-out set:
//
//	tictactoe examples --count 64 --seed 1 > train.jsonl
//	tictactoe examples --count 128 --seed 1 --offset 64 > heldout.jsonl
//
// # The game
//
// X moves first. The opponent moves at random, but as a pure function of the
// example's seed and the board. The model answers with one move as XML,
// <move>B2</move>; an answer without a legal move loses the game at once.
//
// # The reward
//
// The value of a move is the expected result, in [0, 1], of the board after it, if the opponent
// moves at random and the model moves as well as possible. A certain win has the value 1.75, a
// complete line 2, and an illegal move 0. The reward is the mean of these values, each cut at 1
// and the t-th with weight 0.8^t, plus the largest excess above 1 times 0.95^t: early good moves
// count most, a win gives a bonus, and an early win a slightly larger one.
package main
