import { StaleFault } from "./plant.ts";

/** The test file whose path ends like this. */
export function findTest(files: readonly string[], end: string): string {
  const found = files.filter(
    (file) => /\.test\.tsx?$/.test(file) && `/${file}`.endsWith(`/${end}`),
  );
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new StaleFault(`${found.length} test files end in ${end}, and one is needed.`);
  return only;
}
