// A reward service: lines in, lines out.
import http from "node:http";

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  for (const line of body.trim().split("\n")) {
    const { id, answer } = JSON.parse(line);
    response.write(JSON.stringify({ id, reward: answer.length > 0 ? 1 : 0 }) + "\n");
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/score`));
