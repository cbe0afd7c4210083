// Package gateway reads the logs of programs that stand between agents and engines: the records of
// LiteLLM's proxy, and the plain form {"request": ..., "response": ...} with the bodies of OpenAI's and
// Anthropic's APIs. A row is one call: its prompt, and the answer or the reason why there is none. It has
// what Rollmill's recorder would have recorded of that call, because the same packages read it: apis
// requests, and completion answers and their tokens. import --merge calls makes conversations of the rows.
//
// Nothing is guessed. Which API a call speaks is told by the log or by members that one API alone has. Of a call
// that failed it may be untold, if all APIs read the same of its request; else the record is refused. Of the
// members around request and answer only those on a list are kept: a log of strangers' calls has keys and ids of
// people anywhere else.
package gateway
