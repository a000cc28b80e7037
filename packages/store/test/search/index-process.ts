import { SearchService } from "../../src/sqlite/search/service.ts";

/** A process that indexes one store and ends, for tests with several of them. Prints each step. */
const [, , file] = process.argv;
if (file === undefined) throw new Error("Name the store's file.");
const service = new SearchService(file);
for (;;) {
  const { status } = service.step();
  process.stdout.write(`${status}\n`);
  if (status === "current") break;
  if (status === "busy") await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 5));
}
service.close();
