// Package openai uses OpenAI's API at both ends of an epoch: it has a client of
// engines, and a trainer that uses fine-tuning.
//
// # Engines
//
// Client sends requests to OpenAI-compatible engines: the calls of the chat
// agent, the probe before a run, a judge's questions (Judge). It records
// nothing; the calls of a rollout pass through stages/rollout/recorder.
//
// go-openai builds the requests and reads the errors. It leaves out a temperature or top_p of 0
// and an empty content, cannot send fields that it does not know, drops unknown fields of
// answers, and would write a token's bytes as base64. So a transport around it completes each
// request and reads each answer itself. Every such case has its test.
//
// # Fine-tuning
//
// Trainer trains by OpenAI's fine-tuning API, at Azure or a compatible service: it uploads the
// batch as a file, makes a job, and follows it. The lines of the file are defined in
// formats/foreign/finetune. OpenAI itself takes no new jobs from 6 January 2027, so what only
// OpenAI had (reinforcement with a grader, uploads in parts) is not here.
//
// A job has the submission's token in its metadata, and its file has it in its
// name, so that a job whose sender died is found by listing.
//
// The one request that cannot be undone is POST /fine_tuning/jobs. Right before it the jobs are
// listed and the ledger is read again. The request is never repeated; backends.Jobs says what
// each answer to it proves. Its idempotency key is the token; not every service knows such keys.
//
// Files train nothing by themselves.
//
// DPO trains on the preferences of the batch's table _pairs. If the batch has no such table,
// each group's best is compared with its worst, and a note says so. Supervised, each group gives
// one row, or several for its best conversations (Config.Best).
//
// To support another service: add its differences where Config.Azure is used,
// and a switch to openaitest, the test server.
package openai
