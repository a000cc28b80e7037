interface DropHandlers {
  readonly onDragOver: (isOver: boolean) => void;
  readonly onDrop: (files: FileList) => void;
}

/**
 * Takes files that are dropped anywhere in the window: the browser would leave the page to show a file that nobody
 * takes. Returns a function that stops it.
 */
export function acceptDroppedFiles({ onDragOver, onDrop }: DropHandlers): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  const hasFiles = (event: DragEvent): boolean =>
    event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener(
    "dragover",
    (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      onDragOver(true);
    },
    { signal },
  );
  addEventListener(
    "dragleave",
    (event) => {
      // Only a pointer that leaves the window has nothing to go to.
      if (event.relatedTarget === null) onDragOver(false);
    },
    { signal },
  );
  addEventListener(
    "drop",
    (event) => {
      onDragOver(false);
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      onDrop(event.dataTransfer.files);
    },
    { signal },
  );
  return () => listening.abort();
}
