/** The name that was most likely meant: the one with the fewest wrong letters, and one that begins alike before others. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const asked = typed.toLowerCase().slice(0, 40);
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of names) {
    const begins = asked !== "" && name.startsWith(asked);
    const distance = begins ? 0.5 : editDistance(asked, name);
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best?.name;
}

/** Those that may have been meant, the likeliest first: none where what was typed is like none of them. */
export function similarNames(typed: string, names: readonly string[]): string[] {
  const asked = typed.toLowerCase().slice(0, 40);
  const allowed = Math.max(1, Math.floor(asked.length / 3));
  return names
    .map((name) => ({
      name,
      distance: asked.length > 1 && name.startsWith(asked) ? 0.5 : editDistance(asked, name),
    }))
    .filter(({ distance }) => distance <= allowed)
    .toSorted((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}

/** Letters to add, drop, change or swap with their neighbour. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      next.push(cost);
    }
    before = last;
    last = next;
  }
  return last[b.length] ?? a.length;
}
