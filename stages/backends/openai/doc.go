// Package openai is OpenAI's API, on both sides of an epoch: a client of
// engines that speak it, and a trainer by its fine-tuning.
//
// # Engines
//
// Client asks OpenAI-compatible engines: the chat agent's questions, the probe
// before a run, a judge's questions (Judge). It records nothing; what a rollout
// asks passes through stages/rollout/recorder on its way.
//
// go-openai builds the requests and reads the errors. Around it stands a
// transport that mends what it loses: a temperature or top_p of 0 and an empty
// content are left out of its requests, fields that it does not know cannot be
// sent, unknown fields of answers are dropped, and it would write a token's
// bytes as base64. So the transport completes each request and reads each
// answer itself. Every trap has its test.
//
// # Fine-tuning
//
// Trainer trains by the fine-tuning API, at OpenAI, Azure or a service that
// copies it: it uploads the batch as a file, makes a job, and follows it. The
// lines of the file are formats/finetune's matter.
//
// A job carries the submission's token in its metadata, and its file carries
// it in its name, so a job whose sender died is found again by listing.
//
// The one request that cannot be taken back is POST /fine_tuning/jobs. Right
// before it the jobs are listed and the ledger is read again. The request has
// the token as its idempotency key, which OpenAI does not document and other
// services may honour, and it is never repeated.
//
//	answer to it                               what it proves             outcome
//	2xx with an id                             the job was made           followed
//	400, 401, 403, 404, 413, 415, 422, ...     refused, by the service    clean, if a look finds no job
//	                                           or by a proxy
//	408, 409, 425, 429, 499, every 5xx, a      nothing                    clean, if neither a look nor
//	redirect, no answer, 2xx without an id                                another after Config.Settle finds one
//	a job is found                             it was made                followed, whatever was answered
//	the jobs cannot be listed                  nothing                    unknown: the next run looks again
//
// Files and parts of files train nothing by themselves.
//
// DPO trains on the preferences of the batch's table _pairs; a batch without one
// has each group's best compared with its worst, and a note says so. Of the
// other methods each group gives one row, or its best conversations several
// (Config.Best).
//
// Files over Config.MaxFileBytes go in parts, one of which is kept in memory;
// Azure takes none.
//
// To follow another service: add its differences where Config.Azure is looked
// at, and a knob to openaitest, the test server.
package openai
