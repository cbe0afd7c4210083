// Command tictactoe is an agent that plays tic-tac-toe with a language model,
// and the rewards that value its games. It is an ordinary program: all it
// knows of the model is an OpenAI base URL.
//
//	tictactoe play      plays one game: an example on standard input, the model
//	                    at OPENAI_BASE_URL
//	tictactoe reward    values the moves of games by searching the game tree:
//	                    requests on standard input, rewards on standard output,
//	                    one JSON object a line
//	tictactoe won       the same, but 1 for a won game and 0 for any other
//	tictactoe examples  writes examples, a line each: --count N --seed S --offset K
//
// An example is {"id","question","side","seed"}: the mark that the model plays
// and the seed of its opponent. Examples of one --seed with different offsets
// share no opponent, so training and held-out sets are made with
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
// Each move is worth the expected result, in [0, 1], of the board that it
// leaves: the opponent moving at random, the model as well as it can from
// there on. A win that nothing can prevent any more is worth 1.75, a complete
// line 2, and an illegal move 0. The reward is the mean of these, each cut at
// 1 and the t-th weighing 0.8^t, plus the largest excess above 1 times 0.95^t:
// good early moves count most, winning pays extra, winning early a little more.
package main
