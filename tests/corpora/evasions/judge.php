<?php
// The router of `php -S`: prints what PHP made of a body, or at /xml the texts and attributes that its libxml2 read.
header('Content-Type: application/json');
$seen = $_POST;
if ($_SERVER['REQUEST_URI'] === '/xml') {
    libxml_use_internal_errors(true);
    $document = new DOMDocument();
    $seen = [];
    if ($document->loadXML(file_get_contents('php://input'))) {
        foreach ((new DOMXPath($document))->query('//* | //@*') as $node) $seen[] = $node->textContent;
    }
}
echo json_encode(
    ['post' => $seen, 'version' => PHP_VERSION, 'libxml' => LIBXML_DOTTED_VERSION],
    JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE,
    1024
);
