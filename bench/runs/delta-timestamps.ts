/**
 * Each delta of the scripted model starts with its timestamp, so that a receiver knows the age of each, however many
 * were joined on the way. All processes use the machine's clock.
 */
const width = 14;
const deltaLength = 24;
const filling = "some words".padEnd(deltaLength - width);

export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function stampedDelta(): string {
  return machineNow().toFixed(3).padStart(width).slice(-width) + filling;
}

/** How old each delta in the text is. */
export function agesOf(text: string, now: number): number[] {
  const ages: number[] = [];
  for (let at = 0; at + deltaLength <= text.length; at += deltaLength)
    ages.push(now - Number(text.slice(at, at + width)));
  return ages;
}
