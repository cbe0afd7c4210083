// Prefers short answers: 1 for none, towards 0 with the length.
import readline from "node:readline";

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, answer } = JSON.parse(line);
  console.log(JSON.stringify({ id, reward: 1 / (1 + answer.length / 100) }));
}
