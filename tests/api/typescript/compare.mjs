// Two experiments, compared by their names and then by their results.
import { Client } from "langsmith";
import { evaluate, evaluateComparative } from "langsmith/evaluation";

const client = new Client();
const numbers = [1, 2, 3];
const dataset = await client.createDataset("sums");
await client.createExamples({
  datasetId: dataset.id,
  inputs: numbers.map((q) => ({ q })),
  outputs: numbers.map((q) => ({ a: q * 2 })),
});
await client.updateDataset({ datasetId: dataset.id, description: "changed" });

const exact = ({ outputs, referenceOutputs }) => ({ key: "exact", score: outputs.a === referenceOutputs.a });
const options = { data: "sums", evaluators: [exact], client };
const right = await evaluate((input) => ({ a: input.q * 2 }), { ...options, experimentPrefix: "right" });
const wrong = await evaluate(() => ({ a: 0 }), { ...options, experimentPrefix: "wrong" });

const judge = ({ runs, referenceOutputs }) => ({
  key: "pref",
  scores: Object.fromEntries(runs.map((run) => [run.id, run.outputs.a === referenceOutputs.a ? 1 : 0])),
});
const names = [right.experimentName, wrong.experimentName];
await evaluateComparative(names, { evaluators: [judge], client, randomizeOrder: true });
const done = await evaluateComparative([right, wrong].map((results) => Promise.resolve(results)), {
  evaluators: [judge],
  client,
});
await client.awaitPendingTraceBatches();
console.log(JSON.stringify({ results: done.results.length }));
