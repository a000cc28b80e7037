/** As a file: what a document holds is never opened in the page. */
export function saveText(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replaceAll(/[/\\:*?"<>|]/g, " ").slice(-120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
