// As the Python agents: ai_sdk_agent.mjs PROTOCOL whole|stream URL [...].
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_MODULES + "/");
const load = (name) => import(require.resolve(name));
const { ToolLoopAgent, tool } = await load("ai");
const { z } = await load("zod");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const add = tool({
  description: "Add two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});
const models = {
  chat: (baseURL) => createOpenAI({ baseURL, apiKey: "x" }).chat("policy"),
  responses: (baseURL) => createOpenAI({ baseURL, apiKey: "x" })("policy"),
  messages: (baseURL) => createAnthropic({ baseURL, apiKey: "x" })("policy"),
};
const jobs = process.argv.slice(2);
for (let i = 0; i < jobs.length; i += 3) {
  const [protocol, way, url] = jobs.slice(i);
  const agent = new ToolLoopAgent({ model: models[protocol](url), instructions: "You add.", tools: { add } });
  const result = way === "stream" ? await agent.stream({ prompt: "Add 17 and 25." }) : await agent.generate({ prompt: "Add 17 and 25." });
  console.log(await result.text);
}
