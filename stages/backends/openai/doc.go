// Package openai uses OpenAI's API at both ends of an epoch: it has a client of
// engines, and a trainer that uses fine-tuning.
//
// # Engines
//
// Client sends requests to OpenAI-compatible engines: the calls of the chat
// agent, the probe before a run, a judge's questions (Judge). It records
// nothing; the calls of a rollout pass through stages/rollout/recorder.
//
// go-openai builds the requests and reads the errors. It leaves out a
// temperature or top_p of 0 and an empty content, cannot send fields that it does
// not know, drops unknown fields of answers, and would write a token's bytes as
// base64. So a transport around it completes each request and reads each answer
// itself. Every such case has its test.
//
// # Fine-tuning
//
// Trainer trains by the fine-tuning API, at OpenAI, Azure or a compatible
// service: it uploads the batch as a file, makes a job, and follows it. The
// lines of the file are defined in formats/foreign/finetune.
//
// A job has the submission's token in its metadata, and its file has it in its
// name, so that a job whose sender died is found by listing.
//
// The one request that cannot be undone is POST /fine_tuning/jobs. Right before
// it the jobs are listed and the ledger is read again. The request is never
// repeated; backends.Jobs says what each answer to it proves. Its idempotency key
// is the token; OpenAI does not document such keys, but other services may support
// them.
//
// Trainer uses go-openai's calls to read a file, to read a job's events and to
// cancel it. It does not use them to make or read jobs, because they lack
// metadata, method, seed and error. Nor does it use them to send or list files,
// because they keep a whole file in memory and read only the first page.
//
// Files and parts of files train nothing by themselves.
//
// DPO trains on the preferences of the batch's table _pairs. If the batch has no
// such table, each group's best is compared with its worst, and a note says so.
// With the other methods each group gives one row, or several for its best
// conversations (Config.Best).
//
// Files over Config.MaxFileBytes are uploaded in parts, one of which is kept in
// memory; Azure does not support parts.
//
// To support another service: add its differences where Config.Azure is used,
// and a switch to openaitest, the test server.
package openai
