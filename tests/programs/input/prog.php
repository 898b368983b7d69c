<?php
$counts = [];
foreach (file("words.txt", FILE_IGNORE_NEW_LINES) as $w)
    $counts[$w] = ($counts[$w] ?? 0) + 1;
ksort($counts);
echo count($counts), " ", array_key_first($counts), "\n";
echo strlen(json_encode(json_decode(file_get_contents("data.json")))), "\n";
echo preg_match_all('/\w+/', file_get_contents("text.txt")), "\n";
