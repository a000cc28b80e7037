/** Keeps the beginning and the end of a text of any length, in bounded memory. */
export interface Excerpt {
  add(text: string): void;
  text(): string;
}

export function createExcerpt(maxLength: number): Excerpt {
  const half = Math.max(1, Math.floor(maxLength / 2));
  let head = "";
  let tail: string[] = [];
  let tailLength = 0;
  let droppedLength = 0;

  /** Joins the tail only now and then, so that adding stays cheap however small the chunks are. */
  function trimTail(): void {
    if (tailLength <= 2 * half) return;
    const joined = tail.join("");
    droppedLength += joined.length - half;
    tail = [joined.slice(-half)];
    tailLength = half;
  }

  return {
    add(text) {
      const room = half - head.length;
      if (room > 0) head += text.slice(0, room);
      const rest = room > 0 ? text.slice(room) : text;
      if (rest === "") return;
      tail.push(rest);
      tailLength += rest.length;
      trimTail();
    },
    text() {
      const end = tail.join("");
      const dropped = droppedLength + Math.max(0, end.length - half);
      if (dropped === 0) return (head + end).toWellFormed();
      return `${head}\n[${dropped} characters are left out here]\n${end.slice(-half)}`.toWellFormed();
    },
  };
}
