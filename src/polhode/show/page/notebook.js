(async () => {
  const bytes = Uint8Array.from(atob("{{packed}}"), (letter) => letter.charCodeAt(0));
  const page = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.getElementById("{{frame}}").srcdoc = await new Response(page).text();
})();
